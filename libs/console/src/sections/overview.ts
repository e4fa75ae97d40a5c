import { hostname } from 'node:os';
import type { ScriptRegistry } from 'luanest/script-registry';
import { CONSOLE, INSPECT } from '../../../internal/src';
import type { Listing, SectionFactory, Sentence, Story } from '../console.types';
import { readProcesses } from './history';
import { historyScripts } from './history.scripts';
import { numberOf, sentencesOfServer, serverOf, versionOf, type Server } from './servers';
import { say } from './sentences';
import { oneOf, unknownAddress } from './support';
import { facts, table } from './table';

const SERVERS = table(
  'server:link role state version usedMemory:bytes maxMemory:bytes clients:number commandsPerSecond:number',
);
const SCRIPTS = table('script bodies:number servers:number missingOn');
const PROCESSES = table('process current seenAtMs:instant memory:bytes startedAtMs:instant runtime');

/** Maximum number of other processes in the list. */
const MOST_PROCESSES = 200;

/** Section of the servers, the scripts on them, and the processes of the app. If ScriptRegistry is not healthy, the section shows why. */
export const overviewSection: SectionFactory = (app, context) => {
  const registry = app.find('ScriptRegistry') as ScriptRegistry | undefined;
  if (registry === undefined) return undefined;

  return {
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
    // The section has no actions, so these are not called.
    preview: (_action, target) => unknownAddress(oneOf(target)),
    run: (_action, target) => unknownAddress(oneOf(target)),
  };

  function nodes() {
    return (registry as ScriptRegistry)[CONSOLE]().nodes();
  }

  function readServers(): Promise<Server[]> {
    return Promise.all(nodes().map(serverOf));
  }

  function serverRows(servers: readonly Server[]): Listing {
    const rows = servers.map((server) => {
      const level = sentencesOfServer(server).find((each) => each.level !== 'info')?.level;
      return SERVERS.row({ ...valuesOf(server), server: server.id }, ['overview', 'servers', server.id], level);
    });
    return SERVERS.all(rows);
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
    const rows = scripts.map(({ name, forms }) => {
      const missing = all.filter((_, i) => !forms.every(({ sha }) => known[i]?.has(sha))).map(({ id }) => id);
      const values = { script: name, bodies: forms.length, servers: all.length - missing.length };
      return SCRIPTS.row({ ...values, missingOn: missing.join(', ') }, undefined, missing.length > 0 && 'warning');
    });
    return SCRIPTS.all(rows);
  }

  async function processRows(): Promise<Listing> {
    const own = `${hostname()}:${process.pid}`;
    const startedAtMs = context.nowMs() - Math.round(process.uptime() * 1_000);
    const { rss } = process.memoryUsage();
    // Usually, History has registered these scripts already. A console that runs outside the app has no History, so it registers the
    // scripts here.
    (registry as ScriptRegistry).register(historyScripts);
    const others = await readProcesses(registry as ScriptRegistry, MOST_PROCESSES);
    const rows = others
      .filter(({ process: name }) => name !== own)
      .map(({ process: name, seenAtMs, about }) => {
        const { rss: memory, ...known } = JSON.parse(about) as { startedAtMs?: number; rss?: number; runtime?: string };
        const { startedAtMs, runtime } = known;
        return PROCESSES.row({ process: name, current: false, seenAtMs, memory, startedAtMs, runtime });
      });
    const values = { seenAtMs: context.nowMs(), memory: rss, startedAtMs, runtime: `Node.js ${process.version}` };
    return PROCESSES.page([PROCESSES.row({ process: own, current: true, ...values }), ...rows]);
  }

  function storyOf(server: Server): Story {
    const { id, info, clockMs } = server;
    const uptime = numberOf(server, 'uptime_in_seconds');
    const saved = numberOf(server, 'rdb_last_save_time');
    const sentences = sentencesOfServer(server);
    const values = {
      ...valuesOf(server),
      mode: info.get('redis_mode') ?? info.get('server_mode'),
      startedAtMs: uptime === undefined ? undefined : context.nowMs() - uptime * 1_000,
      maxMemoryPolicy: info.get('maxmemory_policy'),
      evictedKeys: numberOf(server, 'evicted_keys'),
      blockedClients: numberOf(server, 'blocked_clients'),
      replicas: numberOf(server, 'connected_slaves'),
      masterLink: info.get('master_link_status'),
      appendOnlyFile: info.has('aof_enabled') ? info.get('aof_enabled') === '1' : undefined,
      savedAtMs: saved && saved * 1_000,
      clockDifferenceMs: clockMs && Math.abs(clockMs),
    };
    return {
      title: id,
      facts: [
        ...facts(
          'role state version mode startedAtMs:instant usedMemory:bytes maxMemory:bytes maxMemoryPolicy',
          values,
        ),
        ...facts('evictedKeys clients blockedClients commandsPerSecond replicas masterLink appendOnlyFile', values),
        ...facts('savedAtMs:instant clockDifferenceMs:duration', values),
      ],
      sentences: sentences.length > 0 ? sentences : [say('server-well', { server: id })],
      actions: [],
    };
  }
};

/** Returns what the list and the details of a server have in common. */
function valuesOf(server: Server) {
  const most = numberOf(server, 'maxmemory');
  return {
    role: server.role,
    state: server.ready ? 'connected' : 'not-connected',
    version: versionOf(server),
    usedMemory: numberOf(server, 'used_memory'),
    // INFO reports 0 if the server has no memory limit.
    maxMemory: most === 0 ? undefined : most,
    clients: numberOf(server, 'connected_clients'),
    commandsPerSecond: numberOf(server, 'instantaneous_ops_per_sec'),
  };
}

function problemOf(problem: string): Sentence {
  return say('registry-unhealthy', { problem });
}

function well(servers: number, scripts: number): Sentence {
  return say('registry-well', { servers, scripts });
}
