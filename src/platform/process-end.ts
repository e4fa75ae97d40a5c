/** Returns how a process ended, in words: `exit status 1` or `signal SIGKILL`. The values are those of the event `exit`. */
export function describeEnd(status: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exit status ${status}` : `signal ${signal}`;
}
