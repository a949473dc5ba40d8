#!/usr/bin/env bash
# `gradwire run` on four hosts: network namespaces with an sshd and a disk of their own.
#   tests/hosts_test.sh PROGRAM
# Exit 77: this machine cannot make such hosts, for the reason that is printed.
set -euo pipefail

program=$(readlink -f "$1")
export NETLAB=${NETLAB:-gwhosts}
netlab=$(readlink -f tools/netlab)

skip() { echo "skipped: $*"; exit 77; }
((EUID == 0)) || skip "network namespaces take root"
for tool in ip tc ssh sshd ssh-keygen unshare; do
  command -v "$tool" >/dev/null || skip "there is no '$tool' (apt-get install openssh-server iproute2)"
done

lab=$(mktemp -d /tmp/gwhosts.XXXXXX)
cleanup() {
  "$netlab" down 2>/dev/null || true
  rm -rf "$lab"
}
trap cleanup EXIT
"$netlab" up 4 1gbit || skip "no laboratory can be made here"

# Hosts: keys, an sshd each, and a directory /work of their own.
mkdir -p "$lab/work" /run/sshd
ssh-keygen -q -t ed25519 -N '' -f "$lab/host_key"
ssh-keygen -q -t ed25519 -N '' -f "$lab/user_key"
cp "$lab/user_key.pub" "$lab/authorized_keys"
cat >"$lab/sshd_config" <<CONFIG
Port 2222
HostKey $lab/host_key
AuthorizedKeysFile $lab/authorized_keys
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PidFile none
CONFIG
cat >"$lab/ssh_config" <<CONFIG
Host *
  Port 2222
  IdentityFile $lab/user_key
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
CONFIG
for i in 0 1 2 3; do
  mkdir "$lab/disk$i"
  "$netlab" exec "$i" unshare --mount sh -c \
    "mount --bind '$lab/disk$i' '$lab/work' && exec $(command -v sshd) -D -f '$lab/sshd_config'" &
done
hosts=10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4
for i in 0 1 2 3; do
  for ((try = 0; try < 100; try++)); do
    "$netlab" exec 0 ssh -F "$lab/ssh_config" "10.77.0.$((i + 1))" true 2>/dev/null && continue 2
    sleep 0.1
  done
  skip "the sshd of host $i does not answer"
done

fail() {
  echo "FAILED: $*"
  for file in out err; do echo "--- $file"; tail -40 "$lab/$file"; done
  exit 1
}
directory=$lab/work
# As a user at host 0: stdout in $lab/out, stderr in $lab/err, the exit code in $status.
start() { "$netlab" exec 0 "$program" run -H "$hosts" --ssh "ssh -F $lab/ssh_config" \
  --chdir "$directory" "$@" >"$lab/out" 2>"$lab/err"; }
on_hosts() { status=0; start "$@" || status=$?; }
expect_status() { ((status == $1)) || fail "exit code $status instead of $1: $2"; }
expect() { grep -qE -- "$2" "$lab/$1" || fail "std$1 lacks '$2'"; }
# Processes on the hosts, other than their sshd.
workers() {
  local i pid
  for i in 0 1 2 3; do
    for pid in $(ip netns pids "$NETLAB-host$i"); do
      [[ $(readlink "/proc/$pid/exe") != */gradwire* ]] || echo "$pid"
    done
  done
}
expect_no_workers() {
  for ((try = 0; try < 300; try++)); do
    [[ -n $(workers) ]] || return 0
    sleep 0.1
  done
  fail "processes are left on the hosts: $(workers | tr '\n' ' ')"
}
logistic=(train --model logistic --data generated --split label --method 'diana(natural)')

echo "a run on four hosts"
on_hosts -- "${logistic[@]}" --steps 200 --out run
expect_status 0 "a run"
expect err "starting 4 workers over ssh on 10.77.0.1, 10.77.0.2"
expect out "^The page is"
[[ -f $lab/disk0/run/run.json ]] || fail "host 0 has no record"
expect_no_workers

echo "several ranks on each host, and JSON on stdout"
on_hosts --ranks-per-host 2 -- "${logistic[@]}" --steps 20 --out eight --json
expect_status 0 "eight ranks"
python3 -c "import json; assert json.load(open('$lab/out'))['workers'] == 8" || fail "no JSON of 8 workers"

echo "wrong usage on all hosts has the workers' exit code, and their ranks in front"
on_hosts -- train --model nonsense
expect_status 2 "wrong usage"
expect err "^\[[0-3]\] gradwire: "

echo "a host that is not there"
hosts_before=$hosts hosts=10.77.0.1,10.77.0.99
on_hosts -- "${logistic[@]}" --steps 5 --out none
hosts=$hosts_before
expect_status 1 "an unknown host"
expect err "ssh to 10.77.0.99 failed"
expect_no_workers

echo "a directory that is not there"
directory=/no/such/directory
on_hosts -- "${logistic[@]}" --steps 5
directory=$lab/work
expect_status 1 "a missing directory"
expect err "cannot use the directory /no/such/directory"

echo "a directory that is missing on one host only"
mkdir "$lab"/disk{0,1,2}/partly
directory=$lab/work/partly
on_hosts -- "${logistic[@]}" --steps 5
directory=$lab/work
expect_status 1 "a directory that is missing on one host"
expect err "10.77.0.4.*cannot use the directory"
expect_no_workers

wait_for_steps() {
  for ((try = 0; try < 300; try++)); do
    [[ ! -s $lab/disk0/$1/steps.jsonl ]] || return 0
    sleep 0.1
  done
  fail "no step within 30 s"
}
# The process of `gradwire run` itself, on host 0.
starter() { pgrep -f "^$program run -H $hosts" | head -1; }

echo "doctor: links, data, disks"
on_doctor() { status=0; "$netlab" exec 0 "$program" doctor -H "$1" --ssh "ssh -F $lab/ssh_config" \
  --chdir "$directory" --data generated >"$lab/out" 2>"$lab/err" || status=$?; }
on_doctor "$hosts"
expect out "All ranks have the same generated"
expect out "is on 4 disks"
expect out "gradwire advise .* --workers 4 --bandwidth [0-9]+Mbit"
on_doctor 10.77.0.1,10.77.0.99
expect_status 1 "a host that is not there"
expect out "PROBLEM  10.77.0.99: ssh fails"
directory=/no/such/directory
on_doctor "$hosts"
directory=$lab/work
expect_status 1 "a missing directory"
expect out "PROBLEM  10.77.0.4: the working directory /no/such/directory is missing"

echo "Ctrl-C stops all hosts with a checkpoint, and says how to resume"
start -- "${logistic[@]}" --steps 100M --checkpoint-every 10 --out stopped &
background=$!
for ((try = 0; try < 300; try++)); do
  (($(ls "$lab/disk3/stopped/checkpoints" 2>/dev/null | wc -l) < 2)) || break
  sleep 0.1
done
kill -INT "$(starter)"
status=0; wait $background || status=$?
expect_status 130 "Ctrl-C"
expect err "Resume with"
expect err "gradwire run --hosts $hosts .* -- train .* --resume"
expect_no_workers
for i in 0 1 2 3; do
  [[ -n $(ls "$lab/disk$i/stopped/checkpoints") ]] || fail "host $i has no checkpoint"
  (($(ls "$lab/disk$i/stopped/checkpoints" | wc -l) <= 3)) || fail "host $i keeps old checkpoints"
done

echo "a resumption takes the newest step that all hosts have"
newest=$(ls "$lab/disk2/stopped/checkpoints" | sort -V | tail -1)
rm -r "$lab/disk2/stopped/checkpoints/$newest"
last=$(ls "$lab/disk2/stopped/checkpoints" | sort -V | tail -1)
on_hosts -- "${logistic[@]}" --steps $((${last#step-} + 50)) --checkpoint-every 10 --out stopped --resume
expect_status 0 "a resumption"
grep -q "\"resumed_from\": ${last#step-}" "$lab/disk0/stopped/run.json" || fail "not resumed from $last"
expect_no_workers

echo "a worker that is killed is the first cause"
start -- "${logistic[@]}" --steps 100M --out killed --overwrite &
background=$!
wait_for_steps killed
for pid in $(ip netns pids "$NETLAB-host2"); do
  tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -q '^RANK=2$' && kill -KILL "$pid" && break
done
status=0; wait $background || status=$?
expect_status 137 "a killed worker"
expect err "rank 2 was ended by signal 9"
expect_no_workers

echo "nothing is left when the starter is killed"
start -- "${logistic[@]}" --steps 100M --out orphan --overwrite &
background=$!
wait_for_steps orphan
kill -KILL "$(starter)"
wait $background || true
expect_no_workers

echo "passed"
