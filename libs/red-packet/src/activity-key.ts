/**
 * Returns the key under which a ledger books an activity. It contains the id and the time of expiry. If an app uses the id again after the
 * activity has expired, the new activity expires later, so its key differs.
 */
export function activityKeyOf(activityId: string, expiresAtMs: number): string {
  return `${encodeURIComponent(activityId)}@${expiresAtMs}`;
}
