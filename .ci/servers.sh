# shellcheck shell=bash
# The database servers of Debian that the databases' tests need: installed when they are missing, started on free ports of
# 127.0.0.1 with their data in a temporary folder, and named in TEST_DATABASE_URLS.

start_servers() {
  servers=$(mktemp -d)
  chmod 755 "$servers"
  install_servers
  local postgres mariadb
  postgres=$(start_postgres)
  mariadb=$(start_mariadb)
  export TEST_DATABASE_URLS="file:sqlite $postgres $mariadb"
  echo "servers: $TEST_DATABASE_URLS"
}

stop_servers() {
  [ -n "${servers:-}" ] || return 0
  [ ! -f "$servers/mariadb/pid" ] || stop_process "$(cat "$servers/mariadb/pid")"
  [ ! -f "$servers/postgres/postmaster.pid" ] || stop_process "$(head -n 1 "$servers/postgres/postmaster.pid")"
  rm -rf "$servers"
}

install_servers() {
  if [ ! -x /usr/sbin/mariadbd ] || ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mariadb-server postgresql >/dev/null
  fi
}

start_postgres() {
  local port binaries
  port=$(free_port)
  binaries=$(dirname "$(ls /usr/lib/postgresql/*/bin/postgres | tail -n 1)")
  install -d -o postgres "$servers/postgres"
  as postgres "$binaries/initdb" -D "$servers/postgres" -U postgres -A trust -E UTF8 --locale=C.UTF-8 >/dev/null
  as postgres "$binaries/pg_ctl" -D "$servers/postgres" -w -l "$servers/postgres/log" \
    -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off" start >/dev/null
  echo "postgresql://postgres@127.0.0.1:$port/postgres"
}

start_mariadb() {
  local port
  port=$(free_port)
  install -d -o mysql "$servers/mariadb"
  mariadb-install-db --user=mysql --datadir="$servers/mariadb" --auth-root-authentication-method=normal >/dev/null
  mariadbd --no-defaults --user=mysql --datadir="$servers/mariadb" --port="$port" --bind-address=127.0.0.1 \
    --socket="$servers/mariadb/socket" --pid-file="$servers/mariadb/pid" >"$servers/mariadb.log" 2>&1 &
  for _ in $(seq 60); do
    if mariadb-admin --no-defaults -h 127.0.0.1 -P "$port" -u root ping >/dev/null 2>&1; then
      echo "mysql://root@127.0.0.1:$port"
      return
    fi
    sleep 1
  done
  tail -n 20 "$servers/mariadb.log" >&2
  return 1
}

as() {
  local user=$1
  shift
  setpriv --reuid="$user" --regid="$user" --clear-groups -- "$@"
}

free_port() {
  node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })'
}

stop_process() {
  kill "$1" 2>/dev/null || return 0
  for _ in $(seq 50); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.2
  done
  kill -9 "$1"
}
