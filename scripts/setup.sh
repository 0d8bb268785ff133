# Sourced by the other scripts: installs what is missing, builds what is stale.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# need_packages KIND...: installs the packages of these kinds that are missing.
need_packages() {
  local kind missing=()
  for kind in "$@"; do
    while read -r name; do
      dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q '^install ok' || missing+=("$name")
    done < <(awk -v kind="$kind" '$1 == kind { print $2 }' "$repo/scripts/packages.txt")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "Installing packages: ${missing[*]}" >&2
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "error: these packages need root to install" >&2; exit 4; }
    as_root=(sudo)
  fi
  quietly packages "${as_root[@]}" apt-get update
  quietly packages "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
}

# quietly NAME COMMAND...: shows the command's output only where it fails. Exit code 4 then.
quietly() {
  local log="$repo/build/logs/$1.log"
  shift
  mkdir -p "$repo/build/logs"
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    echo "error: failed: $*" >&2
    exit 4
  fi
}

# build PRESET [TARGET...]: configures and builds build/PRESET. Quick where nothing changed.
build() {
  local preset=$1
  shift
  local dir="$repo/build/$preset"
  if [ ! -f "$dir/build.ninja" ]; then
    echo "Building ($preset) ..." >&2
    quietly "configure-$preset" cmake -S "$repo" --preset "$preset"
  fi
  quietly "build-$preset" cmake --build "$dir" ${*:+--target "$@"}
}
