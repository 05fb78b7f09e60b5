#!/usr/bin/env bash
# Behind an exporter: export, gate, fuse and verify, artifacts. Arguments go to the gate (`--update-baseline`).
#   EXPORT     a command that writes models into the folder that is its last argument
#   MODELS     that folder               BASELINE   the fusions that are expected, kept in version control
#   ARTIFACTS  where fused models and reports go
# Chip, sizes and gates are options of ascend-fuse.toml.
set -euo pipefail

: "${EXPORT:?a command that writes models into a folder}"
models=${MODELS:-exported} baseline=${BASELINE:-fusions.json} artifacts=${ARTIFACTS:-artifacts}

mkdir -p "$models" "$artifacts"
$EXPORT "$models"

# The gate comes first: a fusion that stopped firing is told by name before anything is published.
ascend-fuse check "$models" --expect "$baseline" --report "$artifacts/check.md" --report "$artifacts/check.junit.xml" \
    --report "$artifacts/check.sarif" "$@"

ascend-fuse optimize "$models" -o "$artifacts/fused" --verify --report "$artifacts/fusion.json" \
    --report "$artifacts/fusion.html"
