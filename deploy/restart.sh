#!/usr/bin/env bash
# restart.sh [--recreate] SERVICE…: restarts the containers of services of docker compose one after the other, each once the one
# before is healthy again. --recreate makes each anew, with the image and the settings as they are now; it wants one service for
# each container, as in compose.cluster.yml. A container that does not get healthy ends the roll, and the script says which and
# why: the containers after it run on as they were. Where a service has two containers, no request fails. COMPOSE_FILE names the
# file of a cluster, and PATIENCE the seconds for each container.
set -euo pipefail
recreate=false
[[ ${1-} == --recreate ]] && { recreate=true; shift; }
(($# > 0)) || { echo 'usage: restart.sh [--recreate] SERVICE…' >&2; exit 2; }

health() { docker inspect --format '{{.State.Health.Status}}' "$1"; }

fail() {
  echo "$1 does not get healthy, and the roll ends here: $(docker inspect --format '{{range .State.Health.Log}}{{println .Output}}{{end}}' "$1" | grep . | tail -n 1)" >&2
  docker logs --tail 200 "$1" 2>&1 | grep -v '"level":"info"' | tail -n 3 >&2
  exit 1
}

await() {
  for ((left = ${PATIENCE:-120}; ; left -= 1)); do
    [[ $(health "$1") == healthy ]] && return
    ((left > 0)) || fail "$(docker inspect --format '{{slice .Name 1}}' "$1")"
    sleep 1
  done
}

for service in "$@"; do
  if $recreate; then docker compose up --detach --no-build --no-deps --quiet-pull "$service"; fi
  containers=$(docker compose ps --quiet --all "$service")
  for container in $containers; do
    $recreate || docker restart "$container"
    await "$container"
  done
done
