"""Text that steers a terminal, a page or a table when a report prints it as it is."""

HOSTILE = "\x1b[2J[bold red]|<script>*a*_b_ `c` [x](http://y.example) | @z #1"
