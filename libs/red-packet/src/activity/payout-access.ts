import { Checks } from '../../../internal/src';
import type { ActivityIndex } from './activity-index';
import type { Wakes } from './wakes';

/** Parts of a RedPacketService that RedPacketPayouts uses, and that are not in its public interface. */
export interface PayoutAccess {
  readonly index: ActivityIndex;
  readonly wakes: Wakes;
}

const given = new WeakMap<object, PayoutAccess>();

export function givePayoutAccess(service: object, access: PayoutAccess): void {
  given.set(service, access);
}

/** @throws InvalidOptionError for an object that replaces the service, for example in a test of the app */
export function payoutAccessOf(service: object): PayoutAccess {
  const access = given.get(service);
  if (access !== undefined) return access;
  throw new Checks('RedPacketPayouts').error(
    'The provider RedPacketService was replaced, so payouts cannot be read. Expected the one of RedPacketModule.',
  );
}
