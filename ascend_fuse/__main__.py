"""`python -m ascend_fuse`."""

from ascend_fuse.cli.main import app_main

if __name__ == "__main__":
    raise SystemExit(app_main())
