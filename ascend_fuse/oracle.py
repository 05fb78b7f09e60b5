"""What says whether a model is as it should be: a command of the user's, by its exit code or by a number."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ascend_fuse.error import UsageError
from ascend_fuse.search import Answer

MODEL = "{model}"
SKIP = 125  # as for `git bisect run`
UNUSABLE = (126, 127)  # what shells say of a command that they cannot run
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Opinion:
    """An answer and what it rests on, in a few words."""

    answer: Answer
    why: str = ""


Oracle = Callable[[Path], Opinion]


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that the command prints: the last match of `pattern` (its group, if it has one) in all that it prints,
    without a pattern the last number of the last line. It is good from `least` to `most`.
    """

    pattern: str = ""
    least: float | None = None
    most: float | None = None

    def check(self) -> None:
        """Raises UsageError for a pattern that is none, and limits that nothing is between."""
        try:
            groups = re.compile(self.pattern).groups
        except re.error as e:
            raise UsageError(f"this is no regular expression: {e}", where="--metric", do="correct it") from e
        if groups > 1:
            raise UsageError("the pattern has several groups", where="--metric", do="mark the number alone")
        if self.least is None and self.most is None:
            raise UsageError("the metric has no limit", where="--metric", do="give --min, --max or both")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise UsageError("--min is above --max", where="--metric", do="swap them")

    def judge(self, printed: str) -> Opinion:
        """Whether the number is within the limits. Raises UsageError where there is none."""
        number = self._number(printed)
        least, most = self.least, self.most
        # NaN is within no limits
        good = (least is None or number >= least) and (most is None or number <= most)
        if good or number != number:
            limit = "" if good else ", no number"
        else:
            limit = f", below {least:g}" if least is not None and number < least else f", above {most:g}"
        return Opinion(Answer.GOOD if good else Answer.BAD, f"metric {number:.6g}{limit}")

    def _number(self, printed: str) -> float:
        if self.pattern:
            found = list(re.finditer(self.pattern, printed))
            text = found[-1].group(found[-1].re.groups) if found else ""
        else:
            lines = [line for line in printed.splitlines() if line.strip()]
            numbers = NUMBER.findall(lines[-1]) if lines else []
            text = numbers[-1] if numbers else ""
        try:
            return float(text)
        except (TypeError, ValueError):
            do = "print it on the last line, or describe it by --metric REGEX"
            raise UsageError(
                f"the command printed no number ({text or 'nothing'!r})", where="--command", do=do
            ) from None


@dataclass(frozen=True, slots=True)
class Command:
    """Runs a command on a model: 0 is good, 125 says that it cannot tell, anything else is bad.

    No shell is between: `{model}` in its words becomes the model's path. With a metric, 0 says that it was printed.
    """

    words: tuple[str, ...]
    metric: Metric | None = None

    @classmethod
    def of(cls, text: str, metric: Metric | None = None) -> Command:
        """From one line. Raises UsageError."""
        try:
            words = tuple(shlex.split(text))
        except ValueError as e:
            raise UsageError(f"cannot be split into words: {e}", where="--command", do="close the quotation") from e
        if not any(MODEL in word for word in words):
            do = f"write {MODEL} where the model's path belongs: 'python eval.py {MODEL}'"
            raise UsageError(f"the command has no {MODEL}", where="--command", do=do)
        if metric is not None:
            metric.check()
        return cls(words, metric)

    def __call__(self, model: Path) -> Opinion:
        """Raises UsageError for a command that cannot be run, or without its number."""
        words = [word.replace(MODEL, str(model.absolute())) for word in self.words]
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except (OSError, ValueError) as e:
            why = getattr(e, "strerror", None) or str(e)
            raise UsageError(f"cannot be run: {why}", where=f"--command {words[0]}", do="check the command") from e
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        ending = f": {told[-1][:200]}" if told else ""
        if done.returncode in UNUSABLE:
            do = "check the command; an evaluation that found something ends with another code"
            raise UsageError(f"it ended with {done.returncode}{ending}", where="--command", do=do)
        if done.returncode == SKIP:
            return Opinion(Answer.SKIP, f"exit code {SKIP}{ending}")
        if done.returncode:
            how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
            return Opinion(Answer.BAD, f"{how}{ending}")
        if self.metric is None:
            return Opinion(Answer.GOOD, "exit code 0")
        return self.metric.judge(done.stdout.decode("utf-8", "replace"))
