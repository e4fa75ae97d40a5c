import type { Reply } from './reply';
import type { Protocol } from './resp';
import type { Watch } from './watches';

export type ChannelKind = 'channels' | 'patterns' | 'shards';

/** The state of one connection to a server: protocol, subscriptions, transaction. */
export class Session {
  name = '';
  protocol: Protocol = 2;
  readonly channels = new Set<string>();
  readonly patterns = new Set<string>();
  readonly shards = new Set<string>();
  /** Commands since MULTI; undefined outside of a transaction. */
  queue: string[][] | undefined;
  /** True if a command of the transaction was invalid, so that EXEC refuses the transaction. */
  queueIsWrong = false;
  /** Keys that the connection watches; undefined without WATCH. */
  watch: Watch | undefined;

  /**
   * @param id number of the connection
   * @param send sends what is not the reply to a command: Pub/Sub messages, and confirmations of subscriptions
   * @param close closes the connection after the reply was sent
   */
  constructor(
    readonly id: number,
    readonly send: (reply: Reply) => void,
    readonly close: () => void,
  ) {}

  get isSubscribed(): boolean {
    return this.channels.size + this.patterns.size + this.shards.size > 0;
  }
}
