#!/usr/bin/env bash
# restart.sh SERVICE…: restarts the containers of services of docker compose one after the other, each once the one before is
# healthy again. Where a service has two containers, no request fails. COMPOSE_FILE names the file of a cluster.
set -euo pipefail
(($# > 0)) || { echo 'usage: restart.sh SERVICE…' >&2; exit 2; }
for container in $(docker compose ps --quiet "$@"); do
  docker restart "$container"
  for ((tries = 120; ; tries -= 1)); do
    [[ $(docker inspect --format '{{.State.Health.Status}}' "$container") == healthy ]] && break
    ((tries > 0)) || { echo "$container is not healthy after 2 min" >&2; exit 1; }
    sleep 1
  done
done
