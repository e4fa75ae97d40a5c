import type { Context } from './commands/command';
import { findCommand } from './commands/find-command';
import { Channels } from './channels';
import type { Clock } from './clock';
import type { KeysState } from './history';
import { Keyspace, type Entry } from './keyspace';
import { RedisError, Status, type Reply } from './reply';
import { ScriptEngine, type LoadedScripts } from './scripting/script-engine';
import { Session } from './session';

const QUEUED = new Status('QUEUED');
const NOT_QUEUED = new Set(['exec', 'discard', 'multi', 'watch', 'quit', 'reset']);
const WHILE_SUBSCRIBED = new Set(
  'subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe ping quit reset'.split(' '),
);

/** A saved state of a server: keys, loaded scripts, and the state of the random numbers. */
export interface ServerState {
  readonly keys: KeysState<Entry>;
  readonly scripts: LoadedScripts;
  readonly random: number;
}

/** A Redis server without a network: keys, scripts, channels, and the commands on them. */
export class Server {
  readonly scripts: ScriptEngine;
  readonly channels = new Channels();
  readonly sessions = new Set<Session>();
  private lastId = 0;

  /** @param db the keys. Several servers may share them, as the masters of a simulated Cluster do. Default: no keys */
  constructor(
    readonly clock: Clock,
    readonly db = new Keyspace(clock),
  ) {
    this.scripts = new ScriptEngine(this.db, (session) => this.contextOf(session));
  }

  /**
   * Opens a connection.
   *
   * @param send sends what is not the reply to a command: Pub/Sub messages, and confirmations of subscriptions
   * @param close closes the connection after the reply was sent
   */
  open(send: (reply: Reply) => void, close: () => void): Session {
    const session = new Session(++this.lastId, send, close);
    this.sessions.add(session);
    return session;
  }

  forget(session: Session): void {
    this.sessions.delete(session);
    if (session.watch !== undefined) this.db.watches.remove(session.watch);
    this.channels.forget(session);
  }

  /** Runs a command. @param words name and arguments; each character stands for one byte */
  execute(session: Session, words: readonly string[]): Reply {
    let run: (() => Reply) | undefined;
    try {
      const found = findCommand(words);
      if (session.protocol === 2 && session.isSubscribed && !WHILE_SUBSCRIBED.has(found.name)) {
        throw new RedisError(
          `ERR Can't execute '${found.name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context`,
        );
      }
      if (session.queue !== undefined && !NOT_QUEUED.has(found.name)) {
        session.queue.push([...words]);
        return QUEUED;
      }
      run = () => found.command.run(this.contextOf(session), found.args);
      return run();
    } catch (error) {
      if (!(error instanceof RedisError)) throw error;
      // A refused MULTI or WATCH does not spoil the transaction, unlike a command that cannot be queued.
      if (run === undefined && session.queue !== undefined) session.queueIsWrong = true;
      return error;
    }
  }

  save(): ServerState {
    return { keys: this.db.save(), scripts: this.scripts.save(), random: this.db.random.state };
  }

  /** Restores a saved state. @throws RangeError if the state is of another server */
  restore({ keys, scripts, random }: ServerState): void {
    this.db.restore(keys);
    this.scripts.restore(scripts);
    this.db.random.state = random;
  }

  contextOf(session: Session): Context {
    return { db: this.db, server: this, session };
  }
}
