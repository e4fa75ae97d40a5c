import { LockLease, LockLeases, type Released } from '../src/locks/held-lock';
import { pending, type Pending } from '../../../test/support/replies';

export interface Renewal {
  readonly leaseMs: number;
  readonly deadlineMs: number;
  readonly reply: Pending<boolean>;
}

/** Opens a lease of 3 s whose calls of Redis the test answers. */
export function openLease({ sentAt, name = 'a', fence = 7 }: { sentAt: number; name?: string; fence?: number }) {
  const renewals: Renewal[] = [];
  const releases: Pending<Released>[] = [];
  const leases = new LockLeases();
  const port = {
    renew(leaseMs: number, deadlineMs: number) {
      const reply = pending<boolean>();
      renewals.push({ leaseMs, deadlineMs, reply });
      return reply.promise;
    },
    release() {
      const reply = pending<Released>();
      releases.push(reply);
      return reply.promise;
    },
  };
  return { lease: new LockLease(name, fence, sentAt, 3_000, true, port, leases), leases, renewals, releases };
}
