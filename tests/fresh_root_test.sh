#!/usr/bin/env bash
# Tries the installed wheel in a root directory that has Python and the C++ run time, and none of the
# libraries that gradwire is built from: imports it, and trains with two ranks.
#   tests/fresh_root_test.sh ENVIRONMENT
# ENVIRONMENT is a virtual environment of /usr/bin/python3 with torch, numpy and gradwire. Needs root
# and Debian; otherwise it is skipped, with exit code 77.
set -euo pipefail
environment=$(realpath "$1")
skip() { echo "fresh_root_test: skipped: $*"; exit 77; }
((EUID == 0)) || skip "it needs root"
command -v apt-cache >/dev/null || skip "this is not Debian"
unshare --mount true 2>/dev/null || skip "this machine does not allow mounts"

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
for directory in bin lib lib64 sbin; do
  mkdir -p "$root/usr/$directory"
  ln -s "usr/$directory" "$root/$directory"
done
# Names that only stand for other packages are unknown to dpkg-query.
readarray -t packages < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
  --no-breaks --no-replaces --no-enhances python3 libstdc++6 | grep '^[a-z0-9]' | sort -u |
  xargs dpkg-query --show --showformat '${binary:Package} ${db:Status-Status}\n' 2>/dev/null |
  sed -n 's/ installed$//p')
dpkg-query --listfiles "${packages[@]}" | grep '^/' | grep -v -e '^/\.$' -e '^/usr/share/' -e '^/var/' |
  sort -u | while read -r path; do [[ ! -e $path ]] || echo "${path#/}"; done |
  tar --create --directory / --no-recursion --files-from - |
  tar --extract --directory "$root" --keep-directory-symlink
# Debian's Python brings OpenSSL. A Python of python.org or conda has its own.
find "$root" -name 'libssl*' -delete -o -name 'libcrypto*' -delete
if find "$root" -name 'libhwy*' -o -name 'libxxhash*' | grep .; then
  echo "FAILED: the root directory has libraries that the wheel should bring along" >&2
  exit 1
fi
mkdir -p "$root/proc" "$root/dev" "$root/tmp" "$root$environment"
echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"
cp examples/train_ddp.py "$root/tmp"

export root environment
said=$(unshare --mount bash -euc '
  mount --bind "$environment" "$root$environment"
  mount --bind /dev "$root/dev"
  mount --bind /dev/shm "$root/dev/shm"
  mount -t proc proc "$root/proc"
  try() { env -i PATH="$PATH" HOME=/tmp OMP_NUM_THREADS=1 chroot "$root" "$environment/bin/python" "$@"; }
  try -c "import gradwire; print(\"gradwire\", gradwire.__version__, \"in a root directory of its own\")"
  try /tmp/train_ddp.py --workers 2 --steps 3 --data generated
' 2>&1) || { echo "$said" >&2; exit 1; }
grep -e '^gradwire' -e '^step 3' <<<"$said"
