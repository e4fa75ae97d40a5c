import type { Reply } from './reply';
import type { Protocol } from './resp';
import type { Watch } from './watches';

export type ChannelKind = 'channels' | 'patterns' | 'shards';

/** A connection to a server. */
export class Session {
  name = '';
  protocol: Protocol = 2;
  readonly channels = new Set<string>();
  readonly patterns = new Set<string>();
  readonly shards = new Set<string>();
  /** Commands after MULTI; undefined outside a transaction. */
  queue: string[][] | undefined;
  /** True if a command after MULTI was refused: EXEC is refused, too. */
  queueIsWrong = false;
  /** Keys of WATCH; undefined without WATCH. */
  watch: Watch | undefined;

  /**
   * @param id number of the connection
   * @param send sends what commands do not return: messages of channels, and confirmations of subscriptions
   * @param close ends the connection after the reply
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
