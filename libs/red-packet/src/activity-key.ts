/**
 * Returns the key by which a ledger books an activity. An id may be used again when Redis has forgotten its activity. The later
 * activity expires at another time, so its key differs.
 */
export function activityKeyOf(activityId: string, expiresAtMs: number): string {
  return `${encodeURIComponent(activityId)}@${expiresAtMs}`;
}
