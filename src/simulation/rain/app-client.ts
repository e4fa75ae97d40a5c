import type { ActivityStatus, GrabResult, GrantRecord, RecordsPage } from 'luanest/red-packet';
import type { LedgerAnswer } from '../../ledger/ledger.controller';
import type { RainOptions } from './rain-options';
import { type Answer, type HttpClient, RainRequestError } from './http-client';

/** A grab's answer and how long it took, ms. */
interface TimedGrab {
  readonly result: GrabResult;
  readonly tookMs: number;
}

/** The app's routes as functions. */
export class AppClient {
  /** @param adminToken the admin token, or a crowd's: with either, the limit on new guests does not apply */
  constructor(
    private readonly http: HttpClient,
    private readonly adminToken: string,
  ) {}

  /** A new guest. */
  async guest(): Promise<{ readonly userId: string; readonly token: string }> {
    return expectOk(
      await this.http.call({ method: 'POST', path: '/guests', token: this.adminToken }),
      'making a guest',
    );
  }

  /** Makes the activity of a rain. @throws {RainRequestError} when there is one of that id already, or it is refused */
  async createActivity({ activityId, totalCents, packets }: RainOptions): Promise<void> {
    const path = `/red-packets/${activityId}`;
    const existing = await this.http.call({ method: 'GET', path });
    if (existing.status === 200) {
      throw new RainRequestError(
        `The activity ${activityId} exists already. Choose another --activity, or leave it out.`,
      );
    }
    const body = { activityId, totalCents, packets };
    expectOk(
      await this.http.call({ method: 'POST', path: '/red-packets', token: this.adminToken, body }),
      'making the activity',
    );
  }

  /** One tap of a user. */
  async grab(activityId: string, token: string): Promise<TimedGrab> {
    const answer = await this.http.call({ method: 'POST', path: `/red-packets/${activityId}/grab`, token });
    const result = answer.body as GrabResult | undefined;
    // Whatever status the route gives to "sold out", the outcome is in the body.
    if (result?.outcome === undefined) expectOk(answer, 'grabbing');
    return { result: result as GrabResult, tookMs: answer.tookMs };
  }

  /** Where the activity stands. */
  async status(activityId: string): Promise<ActivityStatus> {
    return expectOk(await this.http.call({ method: 'GET', path: `/red-packets/${activityId}` }), 'reading the status');
  }

  /** All grants of the activity; one that appears on two pages is listed once. */
  async records(activityId: string): Promise<GrantRecord[]> {
    const seen = new Map<string, GrantRecord>();
    let cursor: string | undefined;
    do {
      const from: string = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const path = `/red-packets/${activityId}/records?limit=500${from}`;
      const answer = await this.http.call({ method: 'GET', path, token: this.adminToken });
      const page: RecordsPage = expectOk(answer, 'reading the records');
      for (const record of page.items)
        seen.set(JSON.stringify([record.packetId, record.userId, record.amountCents]), record);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return [...seen.values()];
  }

  /** What the ledger has paid; asks the process that owns the ledger when this one does not. */
  async ledger(activityKey: string): Promise<LedgerAnswer> {
    // Asked anew each time: the owner may die, and nobody knows at once who comes after it.
    const path = async (): Promise<string> => `${await this.ledgerOwner()}/ledger/${encodeURIComponent(activityKey)}`;
    const answer = await this.http.call({ method: 'GET', path, token: this.adminToken });
    return expectOk(answer, 'reading the ledger');
  }

  private async ledgerOwner(): Promise<string> {
    const health = await this.http.call({ method: 'GET', path: '/health' });
    const { ledgerUrl } = health.body as { ledgerUrl?: string };
    // It is the one that answered: the next request may go to another process.
    return ledgerUrl ?? health.origin;
  }
}

function expectOk<T>({ status, body }: Answer, doing: string): T {
  if (status >= 200 && status < 300) return body as T;
  throw new RainRequestError(`${doing}: the app answered ${status}: ${JSON.stringify(body)}`);
}
