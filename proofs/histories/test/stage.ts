import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFaultProxy, type FaultProxy } from 'luanest/testing/servers';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { byKey } from '../checker/history';
import { checkHistory, type Checked } from '../check-history';
import type { Seed } from '../record/connection';
import { JournalReader, nowMs, type Recorded } from '../record/journal';
import { Player } from '../record/player';
import type { Subject } from '../subjects/subject';

export interface StageSettings {
  readonly subject: Subject;
  /** Default: all of the subject. */
  readonly flavours?: readonly string[];
  readonly histories: number;
  readonly resend?: boolean;
  readonly seeds?: readonly Seed[];
}

export interface StageResult extends Checked {
  readonly flavour: string;
  readonly recorded: readonly Recorded[];
}

/** Records histories of three players in this process, each with a link of its own that is cut and delayed, and checks them. */
export async function play(settings: StageSettings): Promise<StageResult[]> {
  const { subject, flavours = subject.flavours, histories, resend = false, seeds = [] } = settings;
  const folder = mkdtempSync(join(tmpdir(), 'luanest-histories-'));
  const names = ['p1', 'p2', 'p3'];
  const proxies = await Promise.all(names.map(() => startFaultProxy(sharedRedisUrl())));
  const prefix = uniquePrefix();
  const players = await Promise.all(
    names.map((name, n) => {
      const { port } = proxies[n] as FaultProxy;
      // All players of a process get all events of attempts, so only one player runs tasks.
      return Player.open([subject], { port, prefix, name, journal: join(folder, name), seeds, works: n === 0 });
    }),
  );
  try {
    const plans = Array.from({ length: histories }, (_, n) => ({
      key: `history-${n}`,
      subject: subject.name,
      flavour: flavours[n % flavours.length] as string,
      resend,
    }));
    await players[0]?.prepare(plans);
    const batch = { plans, clients: 2, rounds: 5, roundMs: 60, calls: 3, startAt: nowMs() + 10 };
    await Promise.all([...players.map((player, n) => player.run({ ...batch, seed: 31 * n })), disturb(proxies)]);
    for (const proxy of proxies) proxy.pass();
    await players[0]?.finish(plans);
    await sleep(20);
    const read = names.flatMap((name) => new JournalReader(join(folder, name)).read());
    const recorded = byKey(read);
    return plans.map((plan) => {
      const own = recorded.get(plan.key) ?? [];
      return { ...checkHistory(plan, own), flavour: plan.flavour, recorded: own };
    });
  } finally {
    for (const player of players) player.close();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function disturb([first, second, third]: readonly FaultProxy[]): Promise<void> {
  third?.delay(2);
  await sleep(70);
  first?.cut();
  await sleep(40);
  second?.blackhole();
  await sleep(60);
  second?.pass();
  await sleep(50);
  first?.cut();
}
