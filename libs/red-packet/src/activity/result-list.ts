import type { RedPacketServiceOptions } from '../red-packet.options';
import type { ActivityState, Grant, ResultRow, ResultsPage } from '../red-packet.types';
import type { Lifecycle } from './lifecycle';
import type { PageRequest, Results } from './results';
import { statusOf } from './status';

/**
 * States in which the largest packet is shown. It may still change: users may win while the activity is being closed, or in a bucket whose
 * Redis has a slower clock.
 */
const OVER: readonly ActivityState[] = ['sold-out', 'ended', 'closed'];

/** Returns the results that winners may see: packets without the ids of their users. */
export class ResultList {
  constructor(
    private readonly lifecycle: Pick<Lifecycle, 'read'>,
    private readonly results: Results,
    private readonly options: Pick<RedPacketServiceOptions, 'participantName'>,
  ) {}

  async page(activityId: string, userId: string, request: PageRequest): Promise<ResultsPage | undefined> {
    const read = await this.lifecycle.read(activityId);
    const own = read && (await this.results.packetOf(read.layout, userId));
    if (read === undefined || own === undefined) return undefined;
    const isOver = OVER.includes(statusOf(activityId, read.readings).state);
    const [page, best] = await Promise.all([
      this.results.records(read.layout, request),
      isOver ? this.results.luckiest(read.layout) : undefined,
    ]);
    const row = (record: Grant): Promise<ResultRow> => this.row(activityId, record, userId, best);
    const [items, luckiest] = await Promise.all([Promise.all(page.items.map(row)), best && row(best)]);
    const { nextCursor } = page;
    return { items, own, ...(luckiest && { luckiest }), ...(nextCursor !== undefined && { nextCursor }) };
  }

  private async row(activityId: string, record: Grant, viewer: string, best?: Grant): Promise<ResultRow> {
    const { userId, packetId, amountCents, grantedAtMs } = record;
    const name = await this.options.participantName?.(userId, activityId);
    return {
      packetId,
      amountCents,
      grantedAtMs,
      own: userId === viewer,
      luckiest: best !== undefined && best.userId === userId && best.packetId === packetId,
      ...(typeof name === 'string' && { name }),
    };
  }
}
