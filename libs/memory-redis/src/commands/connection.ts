import { integer } from '../numbers';
import { OK, Pairs, Push, refuse, Status, type Reply } from '../reply';
import { at, isWord, notInScripts, reads, wrongNumber, type CommandTable, type Context } from './command';
import { end } from './transactions';

export const VERSION = '7.0.15';

function hello({ session }: Context, args: readonly string[]): Reply {
  const [version, ...options] = args;
  if (version !== undefined) {
    const asked = integer(version, 'ERR Protocol version is not an integer or out of range');
    if (asked !== 2 && asked !== 3) refuse('NOPROTO unsupported protocol version');
    for (let index = 0; index < options.length; index++) {
      if (isWord(options[index], 'AUTH') && index + 2 < options.length) index += 2;
      else if (isWord(options[index], 'SETNAME') && index + 1 < options.length) session.name = at(options, ++index);
      else refuse(`ERR Syntax error in HELLO option '${options[index]}'`);
    }
    session.protocol = asked;
  }
  return new Pairs([
    ['server', 'redis'],
    ['version', VERSION],
    ['proto', session.protocol],
    ['id', session.id],
    ['mode', 'standalone'],
    ['role', 'master'],
    ['modules', []],
  ]);
}

function info({ server, db }: Context): Reply {
  const keys = db.keys().length;
  return [
    '# Server',
    `redis_version:${VERSION}`,
    'redis_mode:standalone',
    'run_id:0000000000000000000000000000000000000000',
    '# Clients',
    `connected_clients:${server.sessions.size}`,
    '# Memory',
    'maxmemory:0',
    'maxmemory_policy:noeviction',
    '# Persistence',
    'loading:0',
    '# Replication',
    'role:master',
    'connected_slaves:0',
    'master_repl_offset:0',
    '# Cluster',
    'cluster_enabled:0',
    '# Keyspace',
    ...(keys === 0 ? [] : [`db0:keys=${keys},expires=0,avg_ttl=0`]),
    '',
  ].join('\r\n');
}

function ping({ session }: Context, args: readonly string[]): Reply {
  if (args.length > 1) throw wrongNumber('ping');
  if (session.isSubscribed && session.protocol === 2) return new Push(['pong', args[0] ?? '']);
  return args[0] ?? new Status('PONG');
}

const NO_PASSWORD =
  'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?';

export const connectionCommands: CommandTable = {
  auth: notInScripts(reads(-2, (_context, args) => (args.length === 1 ? refuse(NO_PASSWORD) : OK))),
  client: {
    subcommands: {
      getname: notInScripts(reads(2, ({ session }) => (session.name === '' ? null : session.name))),
      id: notInScripts(reads(2, ({ session }) => session.id)),
      list: notInScripts(
        reads(-2, ({ server }) =>
          [...server.sessions].map(({ id, name, protocol }) => `id=${id} name=${name} resp=${protocol}\n`).join(''),
        ),
      ),
      setname: notInScripts(
        reads(3, ({ session }, args) => {
          const name = at(args, 0);
          if (/[^!-~]/.test(name)) refuse('ERR Client names cannot contain spaces, newlines or special characters.');
          session.name = name;
          return OK;
        }),
      ),
    },
  },
  cluster: {
    subcommands: Object.fromEntries(
      ['info', 'keyslot', 'myid', 'nodes', 'shards', 'slots'].map((name) => [
        name,
        reads(-2, () => refuse('ERR This instance has cluster support disabled')),
      ]),
    ),
  },
  config: {
    subcommands: {
      get: notInScripts(reads(-3, () => new Pairs([]))),
      resetstat: notInScripts(reads(2, () => OK)),
      set: notInScripts(
        reads(-4, (_context, args) => {
          refuse(`ERR Unknown option or number of arguments for CONFIG SET - '${args[0]}'`);
        }),
      ),
    },
  },
  echo: reads(2, (_context, args) => at(args, 0)),
  hello: notInScripts(reads(-1, hello)),
  info: reads(-1, info),
  ping: reads(-1, ping),
  quit: notInScripts(
    reads(-1, ({ session }) => {
      session.close();
      return OK;
    }),
  ),
  readonly: reads(1, () => refuse('ERR This instance has cluster support disabled')),
  reset: notInScripts(
    reads(1, (context) => {
      const { server, session } = context;
      server.channels.forget(session);
      end(context);
      session.protocol = 2;
      session.name = '';
      return new Status('RESET');
    }),
  ),
  role: notInScripts(reads(1, () => ['master', 0, []])),
  select: reads(2, (_context, args) => {
    // This server has only database 0.
    return integer(at(args, 0)) === 0 ? OK : refuse('ERR DB index is out of range');
  }),
  time: reads(1, ({ db }) => {
    const us = db.nowUs;
    return [String(Math.floor(us / 1e6)), String(us % 1e6)];
  }),
  wait: notInScripts(
    reads(3, (_context, args) => {
      // This server has no replicas, so WAIT replies 0 at once.
      integer(at(args, 0));
      const timeoutMs = integer(at(args, 1), 'ERR timeout is not an integer or out of range');
      if (timeoutMs < 0) refuse('ERR timeout is negative');
      return 0;
    }),
  ),
};
