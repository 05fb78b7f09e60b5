"""What every test may rely on."""

from __future__ import annotations

import signal

# A shell that starts the suite in the background hands SIGINT on as ignored, to the commands that tests interrupt too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
