// @ts-check

/** How each tool is installed on each system. `debian` has the names of the packages, the others are whole commands. */
export const tools = {
  'redis-server': {
    debian: 'redis-server',
    fedora: 'sudo dnf install -y valkey-compat-redis   (before Fedora 41: redis)',
    alpine: 'sudo apk add redis',
    macos: 'brew install redis',
    otherwise: 'Or name the binary of a Redis 7.0 or newer in REDIS_SERVER_BIN.',
  },
  luacheck: {
    debian: 'lua-check',
    fedora: 'sudo dnf install -y luarocks && sudo luarocks install luacheck',
    alpine: 'sudo apk add luacheck',
    macos: 'brew install luacheck',
    otherwise: '',
  },
  postgresql: {
    debian: 'postgresql',
    fedora: 'sudo dnf install -y postgresql-server',
    alpine: 'sudo apk add postgresql',
    macos: 'brew install postgresql@17 && export POSTGRES_BIN_DIR="$(brew --prefix postgresql@17)/bin"',
    otherwise: 'Or name the folder that holds postgres and initdb in POSTGRES_BIN_DIR.',
  },
  promtool: {
    debian: 'prometheus',
    fedora: 'sudo dnf install -y golang-github-prometheus',
    alpine: 'sudo apk add prometheus',
    macos: 'brew install prometheus',
    otherwise: '',
  },
  chromium: {
    debian: 'chromium',
    fedora: 'sudo dnf install -y chromium && export CHROMIUM_BIN=chromium-browser',
    alpine: 'sudo apk add chromium',
    macos: 'brew install --cask chromium && export CHROMIUM_BIN=/Applications/Chromium.app/Contents/MacOS/Chromium',
    otherwise: 'Or name the binary of a Chromium or Chrome in CHROMIUM_BIN.',
  },
};

/**
 * Returns the message for a missing tool: how to install it on each system.
 * @param {keyof typeof tools} tool
 * @param {{ orRedisUrl?: boolean }} [options]
 */
export function howToInstall(tool, { orRedisUrl = false } = {}) {
  const { debian, fedora, alpine, macos, otherwise } = tools[tool];
  return [
    `${tool} was not found. Install it:`,
    `  Debian, Ubuntu   sudo apt-get install -y ${debian}`,
    `  Fedora           ${fedora}`,
    `  Alpine           ${alpine}`,
    `  macOS            ${macos}`,
    otherwise,
    tool === 'redis-server' && orRedisUrl ? 'Or set REDIS_URL to use a server of your own.' : '',
  ]
    .filter(Boolean)
    .join('\n');
}
