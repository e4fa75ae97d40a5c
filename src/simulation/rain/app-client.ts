import type { ActivityStatus, GrabResult, Grant } from 'luanest/red-packet';
import type { Page } from 'luanest/script-registry';
import type { LedgerAnswer } from '../../ledger/ledger.controller';
import type { RainOptions } from './rain-options';
import { type Answer, type HttpClient, RainRequestError } from './http-client';

/** Result of a grab, and its latency in ms. */
interface TimedGrab {
  readonly result: GrabResult;
  readonly tookMs: number;
}

/** Client for the app's routes. Each method throws RainRequestError if the app refuses a request, or is unavailable for long. */
export class AppClient {
  /** @param adminToken the admin token, or the token of a crowd. The limit of new guests applies to neither */
  constructor(
    private readonly http: HttpClient,
    private readonly adminToken: string,
  ) {}

  async guest(): Promise<{ readonly userId: string; readonly token: string }> {
    return expectOk(
      await this.http.call({ method: 'POST', path: '/guests', token: this.adminToken }),
      'making a guest',
    );
  }

  /** Makes the activity of a rain. @throws {RainRequestError} also if the id exists already */
  async createActivity({ activityId, totalCents, packets }: RainOptions): Promise<void> {
    const path = `/red-packets/${activityId}`;
    const existing = await this.http.call({ method: 'GET', path });
    if (existing.status === 200) {
      throw new RainRequestError(
        `The activity ${activityId} exists already. Choose another --activity, or leave the option out.`,
      );
    }
    const body = { activityId, totalCents, packets };
    expectOk(
      await this.http.call({ method: 'POST', path: '/red-packets', token: this.adminToken, body }),
      'making the activity',
    );
  }

  async grab(activityId: string, token: string): Promise<TimedGrab> {
    const answer = await this.http.call({ method: 'POST', path: `/red-packets/${activityId}/grab`, token });
    const result = answer.body as GrabResult | undefined;
    // Each result of a grab has a status, also "sold out". A response without one is a refusal, such as 429.
    if (result?.status === undefined) expectOk(answer, 'grabbing');
    return { result: result as GrabResult, tookMs: answer.tookMs };
  }

  async status(activityId: string): Promise<ActivityStatus> {
    return expectOk(await this.http.call({ method: 'GET', path: `/red-packets/${activityId}` }), 'reading the status');
  }

  /** Reads all grants of the activity. A grant on two pages is listed once. */
  async records(activityId: string): Promise<Grant[]> {
    const seen = new Map<string, Grant>();
    let cursor: string | undefined;
    do {
      const from: string = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const path = `/red-packets/${activityId}/records?limit=500${from}`;
      const answer = await this.http.call({ method: 'GET', path, token: this.adminToken });
      const page: Page<Grant> = expectOk(answer, 'reading the records');
      for (const record of page.items)
        seen.set(JSON.stringify([record.packetId, record.userId, record.amountCents]), record);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return [...seen.values()];
  }

  /** Reads the totals of the ledger, from a process that has the ledger. */
  async ledger(activityKey: string): Promise<LedgerAnswer> {
    // The owner is read again for each attempt, because it may die, and another process then takes over.
    const path = async (): Promise<string> => `${await this.ledgerOwner()}/ledger/${encodeURIComponent(activityKey)}`;
    const answer = await this.http.call({ method: 'GET', path, token: this.adminToken });
    return expectOk(answer, 'reading the ledger');
  }

  private async ledgerOwner(): Promise<string> {
    const health = await this.http.call({ method: 'GET', path: '/health' });
    const { ledgerUrl } = health.body as { ledgerUrl?: string };
    // Without a URL, the process that answered has the ledger, or knows no owner. The next request may go to another process.
    return ledgerUrl ?? health.origin;
  }
}

function expectOk<T>({ status, body }: Answer, doing: string): T {
  if (status >= 200 && status < 300) return body as T;
  throw new RainRequestError(`${doing} failed: the app responded with ${status}: ${JSON.stringify(body)}`);
}
