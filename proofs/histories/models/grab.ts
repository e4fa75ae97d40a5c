import type { Model, Operation } from '../checker/history';

export interface GrabInput {
  /** `state`: the state that a pause or a resumption reads after it has taken effect. */
  readonly op: 'grab' | 'packetOf' | 'status' | 'state' | 'pause' | 'resume' | 'close';
  readonly user?: string;
}

/** A packet: its id, and its amount in cents. */
export type PacketText = `${string}:${number}`;

export interface GrabOutput {
  readonly status?: 'won' | 'already-won' | 'sold-out' | 'paused' | 'closed';
  readonly packet?: PacketText | undefined;
  readonly state?: string;
  readonly left?: readonly [packets: number, cents: number];
  readonly granted?: readonly [packets: number, cents: number];
  readonly refunded?: readonly [packets: number, cents: number];
  /** True if this call closed the activity. */
  readonly closed?: boolean;
}

export type GrabOperation = Operation<GrabInput, GrabOutput>;

export interface GrabState {
  /** Packet of each user who has one. */
  readonly grants: Readonly<Record<string, PacketText | '?'>>;
  readonly state: 'open' | 'paused' | 'closed';
}

/** An activity: each packet goes to one user, each user gets one packet, and no cent is lost. */
export class GrabModel implements Model<GrabState, GrabOperation> {
  readonly start: GrabState = { grants: {}, state: 'open' };
  /** Packets that each user was shown in the history. */
  private readonly shown = new Map<string, Set<PacketText>>();

  /** @param operations the history, which says what packet a grab without a reply can have given */
  constructor(
    private readonly packets: number,
    private readonly cents: number,
    operations: readonly GrabOperation[],
  ) {
    for (const { input, output } of operations) {
      if (input.user === undefined || output?.packet === undefined) continue;
      const shown = this.shown.get(input.user) ?? new Set();
      this.shown.set(input.user, shown.add(output.packet));
    }
  }

  keyOf({ grants, state }: GrabState): string {
    return `${state} ${Object.entries(grants).sort().join(' ')}`;
  }

  reads({ input, output }: GrabOperation): boolean {
    if (output === undefined) return false;
    if (input.op === 'grab') return output.status !== 'won';
    return ['packetOf', 'status', 'state'].includes(input.op) || output.closed === false;
  }

  classOf({ input }: GrabOperation): string {
    return `${input.op} ${input.user ?? ''}`;
  }

  step(state: GrabState, { input, output }: GrabOperation): readonly GrabState[] {
    switch (input.op) {
      case 'grab':
        return this.grab(state, input.user ?? '', output);
      case 'packetOf':
        return output !== undefined && output.packet === state.grants[input.user ?? ''] ? [state] : [];
      case 'status':
        return output !== undefined && this.fits(state, output) ? [state] : [];
      case 'state':
        return output?.state === this.shownState(state) ? [state] : [];
      case 'pause':
      case 'resume': {
        const next = state.state === 'closed' ? 'closed' : input.op === 'pause' ? 'paused' : 'open';
        return [{ ...state, state: next }];
      }
      case 'close': {
        const next: GrabState = { ...state, state: 'closed' };
        if (output === undefined) return [next];
        return output.closed === (state.state !== 'closed') && same(output.refunded, this.leftOf(state)) ? [next] : [];
      }
    }
  }

  private grab(state: GrabState, user: string, output: GrabOutput | undefined): readonly GrabState[] {
    const mine = state.grants[user];
    const granted = Object.values(state.grants);
    const full = granted.length >= this.packets;
    const give = (packet: PacketText | '?'): GrabState => ({ ...state, grants: { ...state.grants, [user]: packet } });
    const free = mine === undefined && !full && state.state === 'open';
    switch (output?.status) {
      case 'already-won':
        return mine !== undefined && mine === output.packet ? [state] : [];
      case 'sold-out':
        // A process may remember it, so it does not see a later pause.
        return mine === undefined && full ? [state] : [];
      case 'paused':
      case 'closed':
        return mine === undefined && state.state === output.status ? [state] : [];
      case 'won': {
        const { packet } = output;
        return free && packet !== undefined && !isTaken(granted, packet) ? [give(packet)] : [];
      }
      case undefined: {
        if (!free) return [];
        const shown = [...(this.shown.get(user) ?? [])];
        if (shown.length === 0) return [give('?')];
        return shown.filter((packet) => !isTaken(granted, packet)).map(give);
      }
    }
  }

  private fits(state: GrabState, { state: text, left, granted, refunded }: GrabOutput): boolean {
    const rest = this.leftOf(state);
    const closed = state.state === 'closed';
    const none = [0, 0] as const;
    const given = [this.packets - rest[0], this.cents - rest[1]] as const;
    return (
      text === this.shownState(state) &&
      same(granted, given) &&
      same(left, closed ? none : rest) &&
      same(refunded, closed ? rest : none)
    );
  }

  private shownState(state: GrabState): string {
    return state.state === 'open' && this.leftOf(state)[0] === 0 ? 'sold-out' : state.state;
  }

  /** Returns the packets and cents that nobody has; NaN cents if a packet is not known. */
  private leftOf({ grants }: GrabState): readonly [packets: number, cents: number] {
    const granted = Object.values(grants);
    return [this.packets - granted.length, granted.reduce((left, packet) => left - centsOf(packet), this.cents)];
  }
}

function centsOf(packet: PacketText | '?'): number {
  return packet === '?' ? NaN : Number(packet.slice(packet.indexOf(':') + 1));
}

/** Compares the ids. The same id with other cents is taken, too. */
function isTaken(granted: readonly (PacketText | '?')[], packet: PacketText): boolean {
  const id = packet.slice(0, packet.indexOf(':') + 1);
  return granted.some((one) => one.startsWith(id));
}

/** Compares packets and cents. Cents that are not known (NaN) may be any. */
function same(
  observed: readonly [number, number] | undefined,
  expected: readonly [packets: number, cents: number],
): boolean {
  if (observed === undefined || observed[0] !== expected[0]) return false;
  return Number.isNaN(expected[1]) || observed[1] === expected[1];
}
