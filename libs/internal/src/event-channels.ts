import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';

const KEPT = Symbol.for('luanest:channels');

/**
 * Keeps all channels of events in memory. Node 20 may lose a new channel when an old one of the same name is garbage-collected
 * (nodejs/node#59910); later subscribers would then get no events. The set is stored on the function `channel`, because Jest loads this
 * module again for each test file.
 */
const kept = ((channel as { [KEPT]?: Set<object> })[KEPT] ??= new Set());

/** The ScriptRegistry of the app that published an event, by the event object. Apps in one process share the channels. */
const origins = new WeakMap<object, object>();

/** Returns the ScriptRegistry of the app that published an event; undefined if `publish` got no `origin`. */
export function originOf(event: object): object | undefined {
  return origins.get(event);
}

/** Subscribes to a channel of events by its name, also before the lib of the channel is loaded. @returns a function that ends the subscription */
export function subscribeTo(name: string, listener: (event: unknown) => void): () => void {
  kept.add(channel(name));
  subscribe(name, listener);
  return () => void unsubscribe(name, listener);
}

/** Channel of `node:diagnostics_channel` for one kind of event. */
export class EventChannel<Event extends object> {
  private readonly channel: ReturnType<typeof channel>;

  constructor(name: string) {
    this.channel = channel(name);
    kept.add(this.channel);
  }

  /** True if someone subscribes to the channel. Check it before work that only the event needs. */
  get hasSubscribers(): boolean {
    return this.channel.hasSubscribers;
  }

  /**
   * Publishes the event that `make` returns. Does not call `make` if nobody subscribes to the channel.
   *
   * @param origin ScriptRegistry of the app, so that `originOf` can distinguish the apps of a process, which share the channels
   */
  publish(make: () => Event, origin?: object): void {
    if (!this.channel.hasSubscribers) return;
    const event = make();
    if (origin !== undefined) origins.set(event, origin);
    this.channel.publish(event);
  }
}

/** Creates the event channels of a lib. @param names the name of each channel, by the name of its event */
export function eventChannels<Events extends { readonly [E in keyof Events]: object }>(
  names: Readonly<Record<keyof Events, string>>,
): { readonly [E in keyof Events]: EventChannel<Events[E]> } {
  const channels = Object.entries<string>(names).map(([event, name]) => [event, new EventChannel(name)]);
  return Object.fromEntries(channels) as { [E in keyof Events]: EventChannel<Events[E]> };
}
