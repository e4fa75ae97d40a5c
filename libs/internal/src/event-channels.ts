import { channel } from 'node:diagnostics_channel';

/** Channel of `node:diagnostics_channel` for one kind of event. */
export class EventChannel<Event> {
  private readonly channel: ReturnType<typeof channel>;

  constructor(name: string) {
    this.channel = channel(name);
  }

  /** True if the channel has subscribers. Check it before work that only serves the event. */
  get hasSubscribers(): boolean {
    return this.channel.hasSubscribers;
  }

  /** Publishes an event. `make` is called only if the channel has subscribers. */
  publish(make: () => Event): void {
    if (this.channel.hasSubscribers) this.channel.publish(make());
  }
}

/** Makes the channels of a lib. @param names full name of each channel, by the short name of its event */
export function eventChannels<Events extends object>(
  names: Readonly<Record<keyof Events, string>>,
): { readonly [E in keyof Events]: EventChannel<Events[E]> } {
  const channels = Object.entries<string>(names).map(([event, name]) => [event, new EventChannel(name)]);
  return Object.fromEntries(channels) as { [E in keyof Events]: EventChannel<Events[E]> };
}
