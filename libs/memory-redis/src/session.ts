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
  /** Commands that were sent since MULTI; undefined outside a transaction. */
  queue: string[][] | undefined;
  /** True if a command since MULTI was invalid. EXEC then refuses the transaction. */
  queueIsWrong = false;
  /** Keys that the connection watches; undefined without WATCH. */
  watch: Watch | undefined;

  /**
   * @param id number of the connection
   * @param send sends what a command does not return as its reply: messages of channels, and confirmations of subscriptions
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
