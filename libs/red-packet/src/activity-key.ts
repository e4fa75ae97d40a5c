/** Key of an activity. A later activity with the same id expires at another time, so it has another key. */
export function activityKeyOf(activityId: string, expiresAtMs: number): string {
  return `${encodeURIComponent(activityId)}@${expiresAtMs}`;
}
