/**
 * Returns the key by which a ledger books an activity. The key contains the time of expiry. If an id is used again after its activity
 * has expired, the new activity expires later, so its key differs.
 */
export function activityKeyOf(activityId: string, expiresAtMs: number): string {
  return `${encodeURIComponent(activityId)}@${expiresAtMs}`;
}
