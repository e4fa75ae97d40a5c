import { Lease, type LeaseStart } from '../src/lease/lease';
import { pending, type Pending } from '../../../test/support/replies';

export interface Renewal {
  readonly leaseMs: number;
  readonly timeoutMs: number;
  readonly reply: Pending<boolean>;
}

/** Opens a lease of 3 s whose calls of Redis the test answers. */
export function openLease(start: Partial<LeaseStart> & Pick<LeaseStart, 'sentAt'>) {
  const renewals: Renewal[] = [];
  const releases: Pending<boolean>[] = [];
  const lease = new Lease(
    { name: 'a', fence: 7, leaseMs: 3_000, renew: true, ...start },
    {
      renew(leaseMs, timeoutMs) {
        const reply = pending<boolean>();
        renewals.push({ leaseMs, timeoutMs, reply });
        return reply.promise;
      },
      release() {
        const reply = pending<boolean>();
        releases.push(reply);
        return reply.promise;
      },
    },
  );
  return { lease, renewals, releases };
}
