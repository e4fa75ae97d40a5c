import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { describeEnd } from '../../platform/process-end';
import { refusal } from '../../platform/refusal.filter';
import type { CrowdOrders } from './crowd-orders';
import { GuestTokens } from '../../visitors/identity/guest-tokens';
import { AppAddress } from '../../monitoring/nodes/app-address';
import { NodeService } from '../../monitoring/nodes/node.service';

/** A crowd to start. */
export interface CrowdOptions {
  readonly activityId: string;
  /** Users; 1 to 100,000. */
  readonly users: number;
  /** Taps of each user; 1 to 10. */
  readonly taps: number;
  /** Further users who tap without pause, to exceed the limit of taps; 0 to 10. */
  readonly hammers: number;
}

/** Returns the arguments of a crowd's process. They use `=`, so that an id that begins with dashes is not an option. */
export function crowdArgs(urls: string, { activityId, users, taps }: Omit<CrowdOptions, 'hammers'>): string[] {
  return [`--url=${urls}`, `--activity=${activityId}`, `--users=${users}`, `--taps=${taps}`];
}

/** Starts simulated crowds, each in a new process. A process of the app starts one crowd at a time. */
@Injectable()
export class CrowdService implements OnApplicationShutdown {
  private readonly logger = new Logger(CrowdService.name);
  private child: ChildProcess | undefined;

  constructor(
    private readonly address: AppAddress,
    private readonly nodes: NodeService,
    private readonly tokens: GuestTokens,
  ) {}

  /** False while a crowd of this process runs, and before this process listens. */
  get canStart(): boolean {
    return this.child === undefined && this.address.url !== undefined;
  }

  /** Starts a crowd against all known processes of the app. @throws {HttpException} 409 while `canStart` is false */
  start(crowd: CrowdOptions): void {
    const { url } = this.address;
    if (url === undefined) throw refusal(409, 'CROWD_NOT_READY', 'The app is still starting. Try again later.');
    if (this.child !== undefined) {
      throw refusal(409, 'CROWD_RUNNING', 'A crowd is running in this process. Try again when it has ended.');
    }
    // Requests go to all processes in turn, so the crowd goes on if one of them dies.
    const others = this.nodes.all().flatMap((node) => (node.url === undefined || node.url === url ? [] : [node.url]));
    const args = crowdArgs([url, ...others].join(','), crowd);
    const script = join(__dirname, 'crowd.main.js');
    // The environment is empty, because the app's may contain secrets. The crowd gets a token that can only make guests.
    const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'ignore', 'pipe'], env: {} });
    this.child = child;
    const orders: CrowdOrders = { token: this.tokens.issueForCrowd(), hammers: crowd.hammers };
    // Ignored, because a crowd that did not start or has ended closes the pipe. The events below handle both.
    child.stdin.on('error', () => undefined).end(JSON.stringify(orders));
    child.stderr.on('data', (chunk: Buffer) => this.logger.warn(chunk.toString().trim()));
    child.once('error', (error) => this.logger.error(`The process of the crowd failed: ${error.message}`));
    child.once('close', (status, signal) => {
      this.child = undefined;
      if (status === 0) return;
      const activityId = JSON.stringify(crowd.activityId);
      this.logger.warn(`The crowd on ${activityId} ended with ${describeEnd(status, signal)}.`);
    });
  }

  onApplicationShutdown(): void {
    this.child?.kill('SIGTERM');
  }
}
