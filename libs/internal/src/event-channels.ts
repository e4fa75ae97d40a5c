import { channel } from 'node:diagnostics_channel';

/** One event on its diagnostics channel. */
export class EventChannel<Event> {
  private readonly channel: ReturnType<typeof channel>;

  /** @param name of the channel, as its users know it */
  constructor(name: string) {
    this.channel = channel(name);
  }

  /** Whether anybody listens, so that the way to the event need not be gone in vain. */
  get heard(): boolean {
    return this.channel.hasSubscribers;
  }

  /** Publishes an event; `make` runs only when someone listens. */
  publish(make: () => Event): void {
    if (this.channel.hasSubscribers) this.channel.publish(make());
  }
}

/** The channels of a lib by the short names of their events, `Events`. @param names of the channels */
export function eventChannels<Events extends object>(
  names: Readonly<Record<keyof Events, string>>,
): { readonly [E in keyof Events]: EventChannel<Events[E]> } {
  const channels = Object.entries<string>(names).map(([event, name]) => [event, new EventChannel(name)]);
  return Object.fromEntries(channels) as { [E in keyof Events]: EventChannel<Events[E]> };
}
