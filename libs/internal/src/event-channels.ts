import { channel } from 'node:diagnostics_channel';

const KEPT = Symbol.for('luanest:channels');

/**
 * All channels, also those of other copies of this module: Jest loads it again for each test file, with other globals, but with the
 * same `channel` function.
 *
 * They are kept because Node 20 may forget a new channel when an old one with the same name is garbage (nodejs/node#59910). Then a
 * later subscriber of this name gets no events.
 */
const kept = ((channel as { [KEPT]?: Set<object> })[KEPT] ??= new Set());

/** Origins of events, see `publish`. */
const origins = new WeakMap<object, object>();

/** Returns the ScriptRegistry of the app in which an event happened; undefined if its publisher did not name it. */
export function originOf(event: object): object | undefined {
  return origins.get(event);
}

/** Channel of `node:diagnostics_channel` for one kind of event. */
export class EventChannel<Event extends object> {
  private readonly channel: ReturnType<typeof channel>;

  constructor(name: string) {
    this.channel = channel(name);
    kept.add(this.channel);
  }

  /** True if the channel has subscribers. Check it before work that only serves the event. */
  get hasSubscribers(): boolean {
    return this.channel.hasSubscribers;
  }

  /**
   * Publishes an event. `make` is called only if the channel has subscribers.
   *
   * @param origin ScriptRegistry of the app, for `originOf`: the apps of a process share the channels
   */
  publish(make: () => Event, origin?: object): void {
    if (!this.channel.hasSubscribers) return;
    const event = make();
    if (origin !== undefined) origins.set(event, origin);
    this.channel.publish(event);
  }
}

/** Makes the channels of a lib. @param names full name of each channel, by the short name of its event */
export function eventChannels<Events extends { readonly [E in keyof Events]: object }>(
  names: Readonly<Record<keyof Events, string>>,
): { readonly [E in keyof Events]: EventChannel<Events[E]> } {
  const channels = Object.entries<string>(names).map(([event, name]) => [event, new EventChannel(name)]);
  return Object.fromEntries(channels) as { [E in keyof Events]: EventChannel<Events[E]> };
}
