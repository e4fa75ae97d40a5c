import { unsupported } from '../reply';
import { notInScripts, reads, type Command, type CommandTable } from './command';

/**
 * Commands of Redis 7.0 that this server does not support, with their arity after the colon. A `!` means that scripts may not call the
 * command. Because of this list, the error says that MemoryRedis does not support the command, and not that the command is unknown.
 *
 * Blocking commands such as BLPOP are not supported: a test could not see when such a command has begun to wait.
 */
const COMMANDS = `
asking:1 bgrewriteaof:1! bgsave:-1! bitfield:-2 bitfield_ro:-2 blmove:6! blmpop:-5 blpop:-3! brpop:-3! brpoplpush:4!
bzmpop:-5 bzpopmax:-3! bzpopmin:-3! command:-1 debug:-2! failover:-1! fcall:-3! fcall_ro:-3! geoadd:-5 geodist:-4 geohash:-2
geopos:-2 georadius:-6 georadius_ro:-6 georadiusbymember:-5 georadiusbymember_ro:-5 geosearch:-7 geosearchstore:-8
lastsave:1 lcs:-3 lolwut:-1 migrate:-6 monitor:1! move:3 pfadd:-2 pfcount:-2 pfdebug:3
pfmerge:-2 pfselftest:1 psync:-3! readwrite:1 replconf:-1! replicaof:3! restore:-4 restore-asking:-4 save:1!
shutdown:-1! slaveof:3! swapdb:3 sync:1! zrangestore:-5`;

const SUBCOMMANDS: Readonly<Record<string, string>> = {
  acl: `cat:-2! deluser:-3! dryrun:-4! genpass:-2! getuser:3! help:2 list:2! load:2! log:-2! save:2! setuser:-3! users:2!
whoami:2!`,
  client: `caching:3! getredir:2! help:2 info:2! kill:-3! no-evict:3! pause:-3! reply:3! tracking:-3! trackinginfo:2! unblock:-3!
unpause:2!`,
  cluster: `addslots:-3 addslotsrange:-4 bumpepoch:2 count-failure-reports:3 countkeysinslot:3 delslots:-3 delslotsrange:-4
failover:-2 flushslots:2 forget:3 getkeysinslot:4 help:2 links:2 meet:-4 replicas:3 replicate:3 reset:-2! saveconfig:2
set-config-epoch:3 setslot:-4 slaves:3`,
  config: 'help:2 rewrite:2!',
  function: 'delete:3! dump:2! flush:-2! help:2 kill:2! list:-2! load:-3! restore:-3! stats:2!',
  latency: 'doctor:2! graph:3! help:2 histogram:-2! history:3! latest:2! reset:-2!',
  memory: 'doctor:2 help:2 malloc-stats:2 purge:2 stats:2 usage:-3',
  module: 'help:2 list:2! load:-3! loadex:-3! unload:3!',
  object: 'help:2 idletime:3 refcount:3',
  pubsub: 'help:2',
  script: 'debug:3! help:2',
  slowlog: 'get:-2 help:2 len:2 reset:2',
  xgroup: 'help:2',
  xinfo: 'help:2',
};

function refused(list: string, prefix = ''): Record<string, Command> {
  const entries = list
    .trim()
    .split(/\s+/)
    .map((word): [string, Command] => {
      const [, name = '', arity, isNotInScripts] = /^(.+):(-?\d+)(!?)$/.exec(word) ?? [];
      const command = reads(Number(arity), () => {
        throw unsupported((prefix + name).toUpperCase());
      });
      return [name, isNotInScripts === '!' ? notInScripts(command) : command];
    });
  return Object.fromEntries(entries);
}

export const missingCommands: CommandTable = refused(COMMANDS);

/** Subcommands that this server does not support, by command. */
export const missingSubcommands: CommandTable = Object.fromEntries(
  Object.entries(SUBCOMMANDS).map(([name, list]) => [name, { subcommands: refused(list, `${name} `) }]),
);
