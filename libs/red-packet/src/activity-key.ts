/** Key of one use of an activity's id: an id that is used again after its retention expires at another time. */
export function activityKeyOf(activityId: string, expiresAtMs: number): string {
  return `${encodeURIComponent(activityId)}@${expiresAtMs}`;
}
