/**
 * Returns the key by which a ledger books an activity. An id may be used again after its activity has expired. The later
 * activity expires later by the same clock, so its key differs.
 */
export function activityKeyOf(activityId: string, expiresAtMs: number): string {
  return `${encodeURIComponent(activityId)}@${expiresAtMs}`;
}
