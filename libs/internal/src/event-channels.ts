import { channel } from 'node:diagnostics_channel';

const KEPT = Symbol.for('luanest:channels');

/**
 * All channels, including those of other copies of this module. There may be several copies, because Jest loads this module again for
 * each test file, with other globals, but with the same `channel` function.
 *
 * The set keeps the channels from being garbage-collected. Otherwise Node 20 may drop a new channel when an old one with the same name is
 * collected (nodejs/node#59910). A later subscriber of this name would then get no events.
 */
const kept = ((channel as { [KEPT]?: Set<object> })[KEPT] ??= new Set());

/** ScriptRegistry of the app that published an event, by event. See `publish`. */
const origins = new WeakMap<object, object>();

/** Returns the ScriptRegistry of the app that published an event; undefined if `publish` got no `origin`. */
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

  /** True if the channel has subscribers. Check this before work that is needed only for the event. */
  get hasSubscribers(): boolean {
    return this.channel.hasSubscribers;
  }

  /**
   * Publishes an event. `make` is called only if the channel has subscribers.
   *
   * @param origin ScriptRegistry of the app, which `originOf` returns. It is needed because all apps of a process share the channels
   */
  publish(make: () => Event, origin?: object): void {
    if (!this.channel.hasSubscribers) return;
    const event = make();
    if (origin !== undefined) origins.set(event, origin);
    this.channel.publish(event);
  }
}

/** Creates the channels of a lib. @param names full name of each channel; the keys are the names of the events */
export function eventChannels<Events extends { readonly [E in keyof Events]: object }>(
  names: Readonly<Record<keyof Events, string>>,
): { readonly [E in keyof Events]: EventChannel<Events[E]> } {
  const channels = Object.entries<string>(names).map(([event, name]) => [event, new EventChannel(name)]);
  return Object.fromEntries(channels) as { [E in keyof Events]: EventChannel<Events[E]> };
}
