import type { HttpClient } from '../rain/http-client';

const TAPS = 400;
const AT_ONCE = 8;

/** Plays a guest who taps 400 times without pause, to exceed the limit of taps. Ignores the results of the taps. */
export async function hammer(http: HttpClient, activityId: string, crowdToken: string): Promise<void> {
  const guest = (await http.call({ method: 'POST', path: '/guests', token: crowdToken })).body as {
    readonly token: string;
  };
  let taps = 0;
  const hand = async (): Promise<void> => {
    while (taps++ < TAPS) {
      await http.call({ method: 'POST', path: `/red-packets/${activityId}/grab`, token: guest.token });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, hand));
}
