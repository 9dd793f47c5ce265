#!/usr/bin/env bash
# healthcheck.sh PORT PATH: succeeds where a GET of that path on this machine answers 200 within 2 s, and else prints the first
# line of the answer. Compose and Kubernetes run it in each container every few seconds: bash opens the connection by itself, in
# some milliseconds, where a Node would take a fifth of a second of processor time.
port=$1 path=$2
exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 1
printf 'GET %s HTTP/1.0\r\n\r\n' "$path" >&3
read -r -t 2 _ status _ <&3 || exit 1
# To the end of the answer, so that the service does not take the caller for one that hung up.
answer=$(cat <&3)
[[ $status == 200 ]] && exit 0
answer=${answer#*$'\r\n\r\n'}
echo "${answer%%$'\n'*}"
exit 1
