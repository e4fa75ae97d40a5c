import { ConflictException, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { CrowdOrders } from './crowd-orders';
import { GuestTokens } from '../../visitors/identity/guest-tokens';
import { AppAddress } from '../../monitoring/nodes/app-address';
import { NodeService } from '../../monitoring/nodes/node.service';

/** A crowd to let loose. */
export interface CrowdOptions {
  readonly activityId: string;
  /** 1 to 100,000. */
  readonly users: number;
  /** Of each user, 1 to 10. */
  readonly taps: number;
  /** Further users who tap as fast as they can, so that a limit refuses them; 0 to 10. */
  readonly hammers: number;
}

/** A crowd as its process is told of it: with `=`, so that an id that begins with dashes is no option of its own. */
export function crowdArgs(urls: string, { activityId, users, taps }: Omit<CrowdOptions, 'hammers'>): string[] {
  return [`--url=${urls}`, `--activity=${activityId}`, `--users=${users}`, `--taps=${taps}`];
}

/** Lets simulated crowds loose on all processes of the app, one at a time, each in a process of its own. */
@Injectable()
export class CrowdService implements OnApplicationShutdown {
  private readonly logger = new Logger(CrowdService.name);
  private child: ChildProcess | undefined;

  constructor(
    private readonly address: AppAddress,
    private readonly nodes: NodeService,
    private readonly tokens: GuestTokens,
  ) {}

  /** Whether a crowd is here. */
  get busy(): boolean {
    return this.child !== undefined;
  }

  /** @throws {ConflictException} while the last crowd is still here */
  start(crowd: CrowdOptions): void {
    const { url } = this.address;
    if (this.busy || url === undefined) throw new ConflictException('A crowd is here already. Wait until it has left.');
    // The other processes of the app take their share, and the place of one that dies.
    const others = this.nodes.all().flatMap((node) => (node.url === undefined || node.url === url ? [] : [node.url]));
    const args = crowdArgs([url, ...others].join(','), crowd);
    const script = join(__dirname, 'crowd.main.js');
    // Nothing of our own environment, which may hold secrets: a crowd gets a token that only makes guests.
    const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'ignore', 'pipe'], env: {} });
    this.child = child;
    const orders: CrowdOrders = { token: this.tokens.issueForCrowd(), hammers: crowd.hammers };
    // A child that could not start or has ended closes the pipe; what became of it is logged below.
    child.stdin.on('error', () => undefined).end(JSON.stringify(orders));
    child.stderr.on('data', (chunk: Buffer) => this.logger.warn(chunk.toString().trim()));
    child.once('error', (error) => this.logger.error(`The crowd could not start: ${error.message}`));
    child.once('close', (status, signal) => {
      this.child = undefined;
      if (status !== 0) this.logger.warn(`The crowd on ${crowd.activityId} ended early (${status ?? signal}).`);
    });
  }

  onApplicationShutdown(): void {
    this.child?.kill('SIGTERM');
  }
}
