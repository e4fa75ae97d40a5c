import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type * as Registry from '../../../libs/script-registry/src';
import { running } from './globals';
import { ClientSocket, Link } from './network';
import type { Fault, Plan } from './plan';
import type { Process } from './process';
import type { Random } from './random';
import type { RedisHost } from './redis-host';
import type { Scheduler } from './scheduler';

/** The part of the world that a member lives in. */
export interface Surroundings {
  readonly plan: Plan;
  readonly random: Random;
  readonly redis: RedisHost;
  readonly scheduler: Scheduler;
  inject(fault: Fault): void;
}

/** A node of the app: a process, and those that replaced it. */
export class Member {
  process!: Process;
  app: INestApplicationContext | undefined;
  /** How often it was started. */
  life = 0;
  /** How fast the clocks of its machine run; 1 is right. */
  speed = 1;
  /** How it will die, in one of its next pauses. */
  dying: { pauses: number; readonly downMs: number } | undefined;
  readonly link: Link;

  constructor(
    readonly world: Surroundings,
    readonly index: number,
  ) {
    this.link = new Link(world.random.named(`link ${index}`));
  }

  get name(): string {
    return `p${this.index + 1}`;
  }

  /** Loads a lib in the process: `load<typeof import('luanest/lock')>('luanest/lock')`. */
  load<Exports>(request: string): Exports {
    return this.process.modules.load(request) as Exports;
  }

  /** Pauses code of the process that runs now: after a restart, code of an earlier process of this node may still run. */
  sleep(ms: number): Promise<void> {
    if (this.dying && --this.dying.pauses === 0) {
      const { downMs } = this.dying;
      this.dying = undefined;
      const { scheduler } = this.world;
      const fault = { kind: 'kill', p: this.index, downMs, pauses: 0 } as const;
      scheduler.at(scheduler.nowUs + ms * 500, () => this.world.inject(fault));
    }
    const process = running() ?? this.process;
    return new Promise((resolve) => void (process.addTimer(resolve, Math.max(1, ms), false).isUsers = true));
  }

  get nowUs(): number {
    return this.process.nowUs;
  }
}

/** Starts an app, within the process of its node. @param modules of the lib that the run is about */
export function bootOf(member: Member, modules: ModuleMetadata): Promise<INestApplicationContext> {
  const { world, process, link } = member;
  process.connect = (port) => new ClientSocket(process, link, world.redis.at(port), world.scheduler);
  const { ScriptRegistryModule } = member.load<typeof Registry>('luanest/script-registry');
  const { resends, protocol, grouping, deadlineMs } = world.plan.client;
  const options = { autoResendUnfulfilledCommands: resends, protocol, disableClientInfo: true };
  const [nodes, isCluster] = [world.redis.addresses, world.plan.masters > 1];
  const connection = isCluster ? { nodes, redisOptions: options } : { ...nodes[0], ...options };
  const registry = ScriptRegistryModule.forRoot({ connection, grouping, deadlineMs });
  const { imports = [], ...rest } = modules;
  const root = { module: class App {}, ...rest, imports: [registry, ...imports] };
  return NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
}
