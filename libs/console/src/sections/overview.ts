import { hostname } from 'node:os';
import type { ScriptRegistry } from 'luanest/script-registry';
import { CONSOLE, INSPECT } from '../../../internal/src';
import type { Listing, Row, Section, SectionFactory, Sentence, Story } from '../console.types';
import { columns } from './columns';
import { readProcesses } from './history';
import { historyScripts } from './history.scripts';
import { numberOf, sentencesOfServer, serverOf, versionOf, type Server } from './servers';
import { at, lasts, link, unknownAction, unknownAddress } from './support';
import { say } from './sentences';

const COLUMNS = {
  servers: columns(
    'server:link role state version usedMemory:bytes maxMemory:bytes clients:number commandsPerSecond:number',
  ),
  scripts: columns('script bodies:number servers:number missingOn'),
  processes: columns('process current seenAtMs:instant memory:bytes startedAtMs:instant runtime'),
} as const;

/** Maximum number of other processes in the list. */
const MOST_PROCESSES = 200;

/**
 * Section of the servers, the scripts on them, and the processes of the app. If the ScriptRegistry is not healthy, it shows why.
 */
export const overviewSection: SectionFactory = (app, context) => {
  const registry = app.find('ScriptRegistry') as ScriptRegistry | undefined;
  if (registry === undefined) return undefined;

  const section: Section = {
    name: 'overview',
    lists: ['servers', 'scripts', 'processes'].map((name) => ({ name, filters: [] })),
    actions: [],

    async summary() {
      const [servers, health] = await Promise.all([readServers(), registry.health()]);
      const masters = servers.filter(({ role }) => role === 'master');
      const [all, missing] = [registry[INSPECT]().length, health.problems.length];
      const sum = (field: string): number => masters.reduce((total, one) => total + (numberOf(one, field) ?? 0), 0);
      const sentences = [...health.problems.map(problemOf), ...servers.flatMap(sentencesOfServer)];
      const isWell = !sentences.some(({ level }) => level === 'error' || level === 'warning');
      return {
        figures: [
          { name: 'servers', value: servers.length, address: ['overview', 'servers'] },
          { name: 'masters', value: masters.length, address: ['overview', 'servers'] },
          { name: 'scripts', value: all, address: ['overview', 'scripts'] },
          { name: 'problems', value: missing, address: ['overview', 'servers'] },
          { name: 'usedMemory', value: { bytes: sum('used_memory') } },
          { name: 'commandsPerSecond', value: sum('instantaneous_ops_per_sec') },
        ],
        sentences: isWell ? [well(servers.length, all), ...sentences] : sentences,
      };
    },

    async list(address) {
      const [, list] = address;
      if (address.length !== 2) return unknownAddress(address);
      if (list === 'servers') return serverRows(await readServers());
      if (list === 'scripts') return scriptRows();
      return list === 'processes' ? processRows() : unknownAddress(address);
    },

    async show(address) {
      const [, list, id] = address;
      if (list !== 'servers' || address.length !== 3) return undefined;
      const node = nodes().find((one) => one.id === id);
      return node && storyOf(await serverOf(node));
    },

    find: (id) => {
      const isServer = nodes().some((node) => node.id === id);
      return Promise.resolve(isServer ? [{ address: ['overview', 'servers', id], kind: 'server', title: id }] : []);
    },
    // eslint-disable-next-line @typescript-eslint/require-await -- rejects, as the other sections do
    preview: async (action) => unknownAction('overview', [], action),
    // eslint-disable-next-line @typescript-eslint/require-await -- as above
    run: async (action) => unknownAction('overview', [], action),
  };
  return section;

  function nodes() {
    return (registry as ScriptRegistry)[CONSOLE]().nodes();
  }

  function readServers(): Promise<Server[]> {
    return Promise.all(nodes().map(serverOf));
  }

  function serverRows(servers: readonly Server[]): Listing {
    const rows = servers.map((server): Row => {
      const address = ['overview', 'servers', server.id];
      const level = sentencesOfServer(server).find((one) => one.level !== 'info')?.level;
      const cells = [
        link(address),
        server.role,
        server.ready ? 'connected' : 'not-connected',
        versionOf(server) || null,
        bytesOf(server, 'used_memory'),
        bytesOf(server, 'maxmemory'),
        numberOf(server, 'connected_clients') ?? null,
        numberOf(server, 'instantaneous_ops_per_sec') ?? null,
      ];
      return { address, cells, ...(level && { level }) };
    });
    return { columns: COLUMNS.servers, rows, total: rows.length };
  }

  async function scriptRows(): Promise<Listing> {
    const scripts = (registry as ScriptRegistry)[INSPECT]();
    const shas = [...new Set(scripts.flatMap(({ forms }) => forms.map(({ sha }) => sha)))];
    const all = nodes().filter(({ ready }) => ready);
    const known = await Promise.all(
      all.map(async (node) => {
        const reply = shas.length === 0 ? [] : await node.send('SCRIPT', ['EXISTS', ...shas]);
        return new Set(shas.filter((_, i) => Number((reply as unknown[])[i]) === 1));
      }),
    );
    const rows = scripts.map(({ name, forms }): Row => {
      const missing = all.filter((_, i) => !forms.every(({ sha }) => known[i]?.has(sha))).map(({ id }) => id);
      const cells = [name, forms.length, all.length - missing.length, missing.join(', ') || null];
      return { cells, ...(missing.length > 0 && { level: 'warning' as const }) };
    });
    return { columns: COLUMNS.scripts, rows, total: rows.length };
  }

  async function processRows(): Promise<Listing> {
    const own = `${hostname()}:${process.pid}`;
    const startedAtMs = context.nowMs() - Math.round(process.uptime() * 1_000);
    const { rss } = process.memoryUsage();
    // Usually, History has registered these scripts already. A console outside the app has no History, so it registers them here.
    (registry as ScriptRegistry).register(historyScripts);
    const others = await readProcesses(registry as ScriptRegistry, MOST_PROCESSES);
    const rows = others
      .filter(({ process: name }) => name !== own)
      .map(({ process: name, seenAtMs, about }): Row => {
        const known = JSON.parse(about) as { startedAtMs?: number; rss?: number; runtime?: string };
        const memory = known.rss === undefined ? null : { bytes: known.rss };
        return { cells: [name, false, at(seenAtMs), memory, at(known.startedAtMs), known.runtime ?? null] };
      });
    const cells = [own, true, at(context.nowMs()), { bytes: rss }, at(startedAtMs), `Node.js ${process.version}`];
    return { columns: COLUMNS.processes, rows: [{ cells }, ...rows] };
  }

  function storyOf(server: Server): Story {
    const { id, role, ready, info, clockMs } = server;
    const uptime = numberOf(server, 'uptime_in_seconds');
    const saved = numberOf(server, 'rdb_last_save_time');
    const sentences = sentencesOfServer(server);
    return {
      title: id,
      facts: [
        { name: 'role', value: role },
        { name: 'state', value: ready ? 'connected' : 'not-connected' },
        { name: 'version', value: versionOf(server) || null },
        { name: 'mode', value: info.get('redis_mode') ?? info.get('server_mode') ?? null },
        { name: 'startedAtMs', value: at(uptime === undefined ? 0 : context.nowMs() - uptime * 1_000) },
        { name: 'usedMemory', value: bytesOf(server, 'used_memory') },
        { name: 'maxMemory', value: bytesOf(server, 'maxmemory') },
        { name: 'maxMemoryPolicy', value: info.get('maxmemory_policy') ?? null },
        { name: 'evictedKeys', value: numberOf(server, 'evicted_keys') ?? null },
        { name: 'clients', value: numberOf(server, 'connected_clients') ?? null },
        { name: 'blockedClients', value: numberOf(server, 'blocked_clients') ?? null },
        { name: 'commandsPerSecond', value: numberOf(server, 'instantaneous_ops_per_sec') ?? null },
        { name: 'replicas', value: numberOf(server, 'connected_slaves') ?? null },
        { name: 'masterLink', value: info.get('master_link_status') ?? null },
        { name: 'appendOnlyFile', value: info.has('aof_enabled') ? info.get('aof_enabled') === '1' : null },
        { name: 'savedAtMs', value: at(saved === undefined ? 0 : saved * 1_000) },
        { name: 'clockDifferenceMs', value: lasts(clockMs === undefined ? undefined : Math.abs(clockMs)) },
      ],
      sentences: sentences.length > 0 ? sentences : [say('server-well', { server: id })],
      actions: [],
    };
  }
};

function bytesOf(server: Server, field: string) {
  const bytes = numberOf(server, field);
  return bytes === undefined || (field === 'maxmemory' && bytes === 0) ? null : { bytes };
}

function problemOf(problem: string): Sentence {
  return say('registry-unhealthy', { problem });
}

function well(servers: number, scripts: number): Sentence {
  return say('registry-well', { servers, scripts });
}
