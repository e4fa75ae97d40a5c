import { RedPacketService, type Packet } from 'luanest/red-packet';
import { resolveOptions } from '../../../libs/red-packet/src/red-packet.options';
import { redPacketScripts } from '../../../libs/red-packet/src/red-packet.scripts';
import { GrabModel, type GrabInput, type GrabOperation, type GrabOutput, type PacketText } from '../models/grab';
import type { Session, Step } from '../record/client';
import type { Recorded } from '../record/journal';
import { below, choose, type Random } from '../record/random';
import { earlierSendings, operationOf, type Bench, type BenchContext, type HistoryPlan, type Subject } from './subject';

/** `open`: the activity stays open. `pause`: it is paused and resumed. `close`: it is also closed, at a random moment. */
const FLAVOURS = ['open', 'pause', 'close'] as const;
const PACKETS = 12;
const CENTS = 5_000;
const USERS = Array.from({ length: 16 }, (_, n) => `user-${n}`);

class GrabSession implements Session {
  constructor(
    private readonly packets: RedPacketService,
    private readonly plan: HistoryPlan,
    private readonly random: Random,
  ) {}

  next(): Step {
    const { flavour } = this.plan;
    const pauses = flavour === 'open' ? 0 : 1;
    const kind = choose(this.random, [
      [12, 'grab'],
      [4, 'packetOf'],
      [3, 'status'],
      [pauses, 'pause'],
      [2 * pauses, 'resume'],
      [flavour === 'close' ? 0.4 : 0, 'close'],
    ]);
    const user = USERS[below(this.random, USERS.length)] as string;
    switch (kind) {
      case 'grab':
        return this.grab(user);
      case 'packetOf':
        return packetStep(this.packets, this.plan.key, user);
      case 'status':
        return statusStep(this.packets, this.plan.key);
      case 'close':
        return this.close();
      case 'pause':
      case 'resume':
        return this.setPaused(kind);
    }
  }

  private grab(user: string): Step {
    const call = async (): Promise<GrabOutput> => {
      const result = await this.packets.grab(this.plan.key, user);
      if ('packet' in result) return { status: result.status, packet: textOf(result.packet) };
      // The model refuses a status that it does not know.
      return { status: (result.status === 'not-open' ? result.reason : result.status) as GrabOutput['status'] };
    };
    return { input: { op: 'grab', user } satisfies GrabInput, call };
  }

  private setPaused(op: 'pause' | 'resume'): Step {
    const call = async (): Promise<GrabOutput> => ({ state: (await this.packets[op](this.plan.key)) ?? 'none' });
    return { input: { op } satisfies GrabInput, call };
  }

  private close(): Step {
    const call = async (): Promise<GrabOutput> => {
      const closed = await this.packets.close(this.plan.key);
      return closed === undefined
        ? {}
        : { closed: closed.closed, refunded: [closed.refundedPackets, closed.refundedCents] };
    };
    return { input: { op: 'close' } satisfies GrabInput, call };
  }
}

function textOf({ packetId, amountCents }: Packet): PacketText {
  return `${packetId}:${amountCents}`;
}

function packetStep(packets: RedPacketService, key: string, user: string): Step {
  const call = async (): Promise<GrabOutput> => {
    const packet = await packets.packetOf(key, user);
    return packet === undefined ? {} : { packet: textOf(packet) };
  };
  return { input: { op: 'packetOf', user } satisfies GrabInput, call };
}

function statusStep(packets: RedPacketService, key: string): Step {
  const call = async (): Promise<GrabOutput> => {
    const status = await packets.status(key);
    if (status === undefined) return {};
    return {
      state: status.state,
      left: [status.remainingPackets, status.remainingCents],
      granted: [status.grantedPackets, status.grantedCents],
      refunded: [status.refundedPackets, status.refundedCents],
    };
  };
  return { input: { op: 'status' } satisfies GrabInput, call };
}

function open({ connection }: BenchContext): Bench {
  const packets = new RedPacketService(connection.registry, {
    ...resolveOptions({ identity: () => undefined }),
    soldOutMs: 1_000,
  });
  return {
    async prepare({ key }) {
      await packets.create({ activityId: key, totalCents: CENTS, packets: PACKETS });
    },
    session: (plan, random) => new GrabSession(packets, plan, random),
    last: ({ key }) => [...USERS.map((user) => packetStep(packets, key, user)), statusStep(packets, key)],
    close: () => packets.onApplicationShutdown(),
  };
}

function operations(plan: HistoryPlan, recorded: readonly Recorded[]): GrabOperation[] {
  return recorded.flatMap((one): GrabOperation[] => {
    const operation = operationOf<GrabOperation>(one, ({ op }) => op === 'packetOf' || op === 'status');
    if (operation === undefined) return [];
    const { id, input, output } = operation;
    if (input.op === 'packetOf' || input.op === 'status') return [operation];
    // A grab that is sent again after a win returns `already-won`, and a second closing does not close.
    const isSecond = input.op === 'grab' ? output?.status === 'already-won' : output?.closed !== true;
    const all = [operation, ...(output === undefined || isSecond ? earlierSendings(plan, operation, one) : [])];
    if (output?.state === undefined) return all;
    return [...all, { ...operation, id: `${id}/state`, input: { op: 'state' } }];
  });
}

export const grab: Subject = {
  name: 'grab',
  flavours: FLAVOURS,
  scripts: redPacketScripts,
  open,
  operations,
  model: (_, operations) => new GrabModel(PACKETS, CENTS, operations as GrabOperation[]),
};
