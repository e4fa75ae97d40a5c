import type { Defect } from './engine/loader';

/** A defect that is put into the libs, to see whether the simulator finds it. */
export interface SeededDefect {
  readonly id: string;
  readonly lib: string;
  readonly what: string;
  readonly defect: Defect;
}

const lua = (lib: string, file: string): string => `libs/${lib}/src/scripts/${file}.lua`;

/**
 * Defects in the scripts (L, and E, which began as old defects of luanest) and in the TypeScript (T; N of the libs that came later). Each text
 * must be in its file once, which a test checks.
 */
export const seededDefects: readonly SeededDefect[] = [
  {
    id: 'L01',
    lib: 'lock',
    what: 'fence from the clock alone',
    defect: [
      [lua('lock', 'acquire'), 'if fence < now_us then', 'if true then'],
      [lua('lock', 'wait'), 'local fence = math.max(lock.fence + 1, now_us)', 'local fence = now_us'],
    ],
  },
  {
    id: 'L03',
    lib: 'lock',
    what: 'renewal in the ms in which the lease ended is granted',
    defect: [
      [
        lua('lock', 'renew'),
        'if lock.owner ~= ARGV[1] or lock.till <= now_ms then return 0 end',
        'if lock.owner ~= ARGV[1] or lock.till < now_ms then return 0 end',
      ],
    ],
  },
  {
    id: 'L05',
    lib: 'lock',
    what: 'TTL of the queue ends before the ticket of a longer poll',
    defect: [[lua('lock', 'wait'), 'math.max(queue.till, now_ms + counts_ms))', 'now_ms + counts_ms)']],
  },
  {
    id: 'L07',
    lib: 'lock',
    what: 'dead first waiter keeps its whole ticket',
    defect: [
      [
        lua('lock', 'wait'),
        'left_ms = math.min(first.till - now_ms, tonumber(ARGV[6]))',
        'left_ms = first.till - now_ms',
      ],
    ],
  },
  {
    id: 'L09',
    lib: 'once',
    what: 'confirmation after the end of the lease counts',
    defect: [
      [
        lua('once', 'confirm'),
        "if state ~= 'c' or left <= 0 then return 'lost' end\nredis.call('SET', KEYS[1], 'd'",
        "if state ~= 'c' then return 'lost' end\nredis.call('SET', KEYS[1], 'd'",
      ],
    ],
  },
  {
    id: 'L11',
    lib: 'once',
    what: 'renewal past the retention',
    defect: [
      [
        lua('once', 'renew'),
        "if redis.call('PTTL', KEYS[1]) < lease then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end\n",
        '',
      ],
    ],
  },
  {
    id: 'L13',
    lib: 'scheduled-catch-ups',
    what: 'catch-up that dies is never caught up',
    defect: [
      [
        lua('scheduled-lock', 'claim'),
        "'slot', string.format('%.0f', slot), 'open', 1)",
        "'slot', string.format('%.0f', slot), 'open', mode == 'tick' and 1 or 0)",
      ],
    ],
  },
  {
    id: 'L15',
    lib: 'scheduled-lock',
    what: 'claim given back burns its slot',
    defect: [
      [
        lua('scheduled-lock', 'complete'),
        "  if unused and mode == 'tick' then redis.call('HINCRBY', KEYS[1], 'slot', -1) end\n",
        '',
      ],
    ],
  },
  {
    id: 'L17',
    lib: 'task-takes',
    what: 'repeated take returns tasks handed back or waiting',
    defect: [
      [
        lua('delayed-task', 'take'),
        "elseif run.state == 'l' and run.token == ARGV[1] then",
        'elseif run.token == ARGV[1] then',
      ],
    ],
  },
  {
    id: 'L19',
    lib: 'delayed-task',
    what: 'cancel of a running task keeps its run',
    defect: [[lua('delayed-task', 'cancel'), "redis.call('HDEL', KEYS[6], ARGV[1])\n", '']],
  },
  {
    id: 'L21',
    lib: 'delayed-task',
    what: 'failure does not forget since when no worker knew the task',
    defect: [[lua('delayed-task', 'fail'), 'run.failed, 0, run.problem)', 'run.failed, run.unknown, run.problem)']],
  },
  {
    id: 'L23',
    lib: 'delayed-task',
    what: 'reschedule sent twice has its effect twice',
    defect: [
      [
        lua('delayed-task', 'reschedule'),
        "if first and tonumber(first) then return { tonumber(first), 'moved' } end\n",
        '',
      ],
      [lua('delayed-task', 'reschedule'), 'if first then return { 0, first } end\n', ''],
    ],
  },
  {
    id: 'L24',
    lib: 'delayed-task',
    what: 'full group is not noticed',
    defect: [
      [
        lua('delayed-task', 'shared/limits'),
        '  if count < limits.concurrency then return count end\n',
        '  if count >= 0 then return 0 end\n',
      ],
    ],
  },
  {
    id: 'L25',
    lib: 'stream-consumer',
    what: 'late retry takes an entry from the consumer that has it now',
    defect: [[lua('stream-consumer', 'retry'), 'if not held[1] or held[1][2] ~= ARGV[2] then', 'if not held[1] then']],
  },
  {
    id: 'L27',
    lib: 'stream-groups',
    what: 'partition growth not fenced',
    defect: [
      [
        lua('stream-consumer', 'shared/settlers'),
        "  for name in string.gmatch(needs, '%S+') do\n    if not there[name] then return nil end\n  end\n",
        '',
      ],
    ],
  },
  {
    id: 'L29',
    lib: 'stream-consumer',
    what: 'no replay token without an operation id',
    defect: [
      [
        lua('stream-consumer', 'publish'),
        'if first then return { 2, first } end',
        "if first and ARGV[3] ~= '' then return { 2, first } end",
      ],
    ],
  },
  {
    id: 'L31',
    lib: 'stream-consumer',
    what: 'replayed dead letter goes to all groups',
    defect: [
      [
        lua('stream-consumer', 'replay-dead'),
        'if entry then\n    local row = { FOR_GROUP, ARGV[1] }',
        'if entry then\n    local row = {}',
      ],
    ],
  },
  {
    id: 'L32',
    lib: 'stream-consumer',
    what: 'retention deletes what a group has not settled',
    defect: [[lua('stream-consumer', 'purge'), 'if not needed[entry[1]] then', 'if true then']],
  },
  {
    id: 'L33',
    lib: 'red-packet-buckets',
    what: 'late confirmation deletes the next record',
    defect: [
      [
        lua('red-packet', 'confirm-transfer'),
        "if not record or string.match(record, '^(%d+)|') ~= ARGV[2] then return 0 end",
        'if not record then return 0 end',
      ],
    ],
  },
  {
    id: 'L35',
    lib: 'red-packet-moves',
    what: 'transfer numbers from a counter that a failover loses',
    defect: [
      [
        lua('red-packet', 'send-packets'),
        'local sequence = math.max(now_us, (marks[2] or 0) + 1)',
        'local sequence = (marks[2] or 0) + 1',
      ],
    ],
  },
  {
    id: 'L37',
    lib: 'rate-limit',
    what: 'refund after the window turned',
    defect: [
      [
        lua('rate-limit', 'shared/fixed-window'),
        'if count == 0 or ends_ms ~= math.abs(charged_until_ms) then return 0 end',
        'if count == 0 then return 0 end',
      ],
    ],
  },
  {
    id: 'L39',
    lib: 'limit-resets',
    what: 'refund of hits before a reset takes hits after it',
    defect: [
      [lua('rate-limit', 'shared/fixed-window'), '    if charged_until_ms < 0 and mark > 0 then return 0 end\n', ''],
    ],
  },
  {
    id: 'L41',
    lib: 'read-reward',
    what: 'grant numbers used again after a refund',
    defect: [
      [
        lua('read-reward', 'refund'),
        'sum - granted, tonumber(seq), refunds + 1))',
        'sum - granted, tonumber(seq) - 1, refunds + 0))',
      ],
    ],
  },
  {
    id: 'T01',
    lib: 'script-registry',
    what: 'a timeout counts as no effect',
    defect: [
      ['libs/script-registry/src/pipe/settle.ts', 'return call.mayHaveRun\n', 'return call.mayHaveRun && closed\n'],
    ],
  },
  {
    id: 'T03',
    lib: 'script-registry',
    what: 'first sending forgotten when the second fails',
    defect: [
      [
        'libs/script-registry/src/pipe/recovery.ts',
        'call.lost ||= failure.mayHaveRun;',
        'call.lost = failure.mayHaveRun;',
      ],
    ],
  },
  {
    id: 'T04',
    lib: 'script-registry',
    what: 'runAndWait sends calls whose deadline passed',
    defect: [
      [
        'libs/script-registry/src/pipe/recovery.ts',
        'const live = calls.filter(({ settled }) => !settled);\n    if (live.length === 0) return;',
        'const live = [...calls];',
      ],
    ],
  },
  {
    id: 'T05',
    lib: 'lock',
    what: 'renewed lease counted from the reply',
    defect: [
      ['libs/internal/src/lease-book.ts', 'else lease.restarted(sentAt);', 'else lease.restarted(time.monotonicMs());'],
    ],
  },
  {
    id: 'T07',
    lib: 'lock',
    what: 'lock acquired during the shutdown not released',
    defect: [['libs/lock/src/locks/acquirer.ts', '    if (this.closed) this.runInBackground(calls.release());\n', '']],
  },
  {
    id: 'T09',
    lib: 'lock',
    what: 'release before a late subscription is missed',
    defect: [['libs/lock/src/locks/wait-queue.ts', '      if (late && subscribed) this.onRelease();\n', '']],
  },
  {
    id: 'T10',
    lib: 'lock',
    what: 'release does not wait for the renewal in flight',
    defect: [
      [
        'libs/lock/src/locks/held-lock.ts',
        'return renewal === undefined ? this.giveUp() : renewal.catch(() => undefined).then(() => this.giveUp());',
        'void renewal?.catch(() => undefined);\n    return this.giveUp();',
      ],
    ],
  },
  {
    id: 'T11',
    lib: 'lock',
    what: 'release settles twice',
    defect: [['libs/lock/src/locks/held-lock.ts', 'this.releasing ??= this.end();', 'this.releasing = this.end();']],
  },
  {
    id: 'T13',
    lib: 'task-takes',
    what: 'lease of a repeated take counted from the last sending',
    defect: [['libs/delayed-task/src/worker/partition-loop.ts', 'sentAt: firstSentAt,', 'sentAt,']],
  },
  {
    id: 'T14',
    lib: 'task-takes',
    what: 'a take that may have run is abandoned',
    defect: [['libs/delayed-task/src/worker/partition-loop.ts', 'mayHaveRun ||= error', 'mayHaveRun = error']],
  },
  {
    id: 'T15',
    lib: 'delayed-task',
    what: 'shutdown does not await the last outcomes',
    defect: [
      ['libs/worker/src/attempts.ts', '    await endsWithin(LAST_ANSWERS_MS, answered);\n', '    void answered;\n'],
    ],
  },
  {
    id: 'T16',
    lib: 'delayed-task',
    what: 'handler that ends after its task was handed back settles it',
    defect: [['libs/worker/src/attempts.ts', '      for (const attempt of left) attempt.decided = true;\n', '']],
  },
  {
    id: 'T17',
    lib: 'delayed-task',
    what: 'renewals begin when 10 % of the lease is left',
    defect: [
      [
        'libs/internal/src/lease-book.ts',
        'this.renewAt = renews ? sentAt + leaseMs / 3 : Infinity;',
        'this.renewAt = renews ? sentAt + leaseMs * 0.9 : Infinity;',
      ],
      [
        'libs/internal/src/lease-book.ts',
        'if (this.renews) this.renewAt = Math.min(this.renewAt, sentAt + this.leaseMs / 3);',
        '',
      ],
      [
        'libs/internal/src/lease-book.ts',
        'this.renewAt = this.renews ? sentAt + this.leaseMs / 3 : Infinity;',
        'this.renewAt = this.renews ? sentAt + this.leaseMs * 0.9 : Infinity;',
      ],
    ],
  },
  {
    id: 'T18',
    lib: 'delayed-task',
    what: 'double start',
    defect: [
      [
        'libs/delayed-task/src/worker/worker.ts',
        'if (this.loops.length > 0 || this.calls.closing) return;',
        'if (this.calls.closing) return;',
      ],
    ],
  },
  {
    id: 'T19',
    lib: 'delayed-task',
    what: 'renewed lease counted from the reply',
    defect: [
      ['libs/internal/src/lease-book.ts', 'else lease.restarted(sentAt);', 'else lease.restarted(time.monotonicMs());'],
    ],
  },
  {
    id: 'T21',
    lib: 'stream-consumer',
    what: 'second uncounted retry taken for a replay of the first',
    defect: [['libs/stream-consumer/src/consumer/consumer.scripts.ts', 'returned: Number(returned),', 'returned: 0,']],
  },
  {
    id: 'T22',
    lib: 'stream-consumer',
    what: 'handler begins for a lost session',
    defect: [
      [
        'libs/stream-consumer/src/consumer/handler-runner.ts',
        '    if (session.over) return attempts.capacity.release(1);\n',
        '    void session;\n',
      ],
    ],
  },
  {
    id: 'T23',
    lib: 'stream-consumer',
    what: 'lease of a session counted from the reply',
    defect: [
      [
        'libs/stream-consumer/src/consumer/reader.ts',
        'leases.restarted(session, sentAt);',
        'leases.restarted(session, time.monotonicMs());\n      void sentAt;',
      ],
    ],
  },
  {
    id: 'T24',
    lib: 'stream-consumer',
    what: 'a failed renewal is not repeated until the next third',
    defect: [
      [
        'libs/internal/src/lease-book.ts',
        '        if (again) for (const lease of batch) lease.renewAt = now + (lease.leaseMs / 20) * (0.5 + Math.random());\n',
        '        void now;\n',
      ],
    ],
  },
  {
    id: 'T25',
    lib: 'stream-closes',
    what: 'stop leaves before the last outcomes are in Redis',
    defect: [
      ['libs/worker/src/attempts.ts', '    await endsWithin(LAST_ANSWERS_MS, answered);\n', '    void answered;\n'],
    ],
  },
  {
    id: 'T27',
    lib: 'stream-groups',
    what: 'group lost in a failover is forgotten at once',
    defect: [
      ['libs/stream-consumer/src/streams/stream-catalog.ts', 'if (now - since > this.keptMs)', 'if (now - since >= 0)'],
    ],
  },
  {
    id: 'T29',
    lib: 'once',
    what: 'index of the moved lease not updated',
    defect: [['libs/internal/src/lease-book.ts', '    last.index = index;\n', '']],
  },
  {
    id: 'T30',
    lib: 'once',
    what: 'renewed lease counted from the reply',
    defect: [
      ['libs/internal/src/lease-book.ts', 'else lease.restarted(sentAt);', 'else lease.restarted(time.monotonicMs());'],
    ],
  },
  {
    id: 'T31',
    lib: 'once',
    what: 'missing await of the release after a failure',
    defect: [
      [
        'libs/once/src/runs/runs.ts',
        '        await this.settleUnfinished(claim, full.delivery);\n        throw error;',
        '        void this.settleUnfinished(claim, full.delivery);\n        throw error;',
      ],
    ],
  },
  {
    id: 'T33',
    lib: 'scheduled-lock',
    what: 'claim with unknown outcome not given back',
    defect: [
      [
        'libs/scheduled-lock/src/runs/claims.ts',
        'if (maybeClaimed) void this.giveBack(job, owner, slot).catch(() => undefined);',
        'void maybeClaimed;',
      ],
    ],
  },
  {
    id: 'T35',
    lib: 'rate-limit',
    what: 'a decision can be refunded twice',
    defect: [['libs/rate-limit/src/limiter/decision.ts', '    decision.#charged = false;\n', '']],
  },
  {
    id: 'T36',
    lib: 'rate-limit',
    what: 'LRU evicts the refusal just renewed',
    defect: [
      [
        'libs/rate-limit/src/limiter/resilient-limiter.ts',
        '    this.refusals.delete(id);\n    this.isEmpty = false;',
        '    this.isEmpty = false;',
      ],
    ],
  },
  {
    id: 'T37',
    lib: 'rate-limit',
    what: 'a late success closes the open breaker',
    defect: [['libs/rate-limit/src/limiter/resilient-limiter.ts', '    if (this.open && !this.probing) return;\n', '']],
  },
  {
    id: 'T38',
    lib: 'rate-limit',
    what: 'cached refusal of a lower limit refuses a higher one',
    defect: [
      [
        'libs/rate-limit/src/limiter/resilient-limiter.ts',
        'if (check.cost < refusal.cost || check.limit > refusal.limit) return undefined;',
        'if (check.cost < refusal.cost) return undefined;',
      ],
    ],
  },
  {
    id: 'T39',
    lib: 'red-packet-buckets',
    what: 'winner who won while the winners were read gets sold out',
    defect: [
      [
        'libs/red-packet/src/grabs/sold-out-users.ts',
        'if (!isRefusing(again) || versionOf(again) !== version) return;',
        'if (!isRefusing(again)) return;',
      ],
    ],
  },
  {
    id: 'E01',
    lib: 'rate-limit',
    what: 'refund of a fixed window does not compare the window',
    defect: [
      [
        lua('rate-limit', 'shared/fixed-window'),
        'if count == 0 or ends_ms ~= math.abs(charged_until_ms) then return 0 end',
        'if count == 0 then return 0 end',
      ],
      [lua('rate-limit', 'shared/fixed-window'), 'if charged_until_ms < 0 and mark > 0 then return 0 end', ''],
    ],
  },
  {
    id: 'E02',
    lib: 'rate-limit',
    what: 'refund of a token bucket gives hits of before a reset, and hits that have drained',
    defect: [
      [lua('rate-limit', 'shared/token-bucket'), 'if charged_us < empty_us then return 0 end', ''],
      [
        lua('rate-limit', 'shared/token-bucket'),
        'given = math.min(given, math.max(tonumber(low) or 0, cost - drained_in(rule, at_us - charged_us)))',
        '',
      ],
    ],
  },
  {
    id: 'E03',
    lib: 'red-packet',
    what: 'packets that arrive twice',
    defect: [
      [
        lua('red-packet', 'receive-packets'),
        'if marks[1] and tonumber(ARGV[2]) <= tonumber(marks[1]) then',
        'if false then',
      ],
    ],
  },
  {
    id: 'E04',
    lib: 'red-packet',
    what: 'second transfer replaces the record of one that has not arrived',
    defect: [
      [
        lua('red-packet', 'send-packets'),
        "local found = redis.call('HGET', KEYS[3], 'out:' .. ARGV[1])\nif found then",
        "local found = redis.call('HGET', KEYS[3], 'out:' .. ARGV[1])\nif false then",
      ],
    ],
  },
  {
    id: 'E05',
    lib: 'red-packet',
    what: 'repeated grab wins a second packet',
    defect: [
      [lua('red-packet', 'grab'), 'if grants[1] then\n', 'if false then\n'],
      [lua('red-packet', 'grab-group'), "local mine = redis.call('HGET', KEYS[3], ARGV[1])", 'local mine = nil'],
    ],
  },
  {
    id: 'E06',
    lib: 'red-packet',
    what: 'a group grants a packet twice',
    defect: [
      [
        lua('red-packet', 'grab-group'),
        'gate.at, gate.taken, gate.granted = gate.at + 1,',
        'gate.at, gate.taken, gate.granted = gate.at,',
      ],
    ],
  },
  {
    id: 'E07',
    lib: 'red-packet',
    what: 'TTL for keys that owe a payout',
    defect: [
      [
        lua('red-packet', 'settle-bucket'),
        'local owed = not over or granted + (meta[10] or 0) ~= (meta[11] or 0) + 0',
        'local owed = not over',
      ],
    ],
  },
  {
    id: 'E08',
    lib: 'red-packet',
    what: 'close forgets to count the refunds',
    defect: [
      [
        lua('red-packet', 'close-activity'),
        "  redis.call('HINCRBY', KEYS[1], 'refundedCents', format_number(cents))\n  redis.call('HINCRBY', KEYS[1], 'refundedPackets', pooled)",
        "  redis.call('HINCRBY', KEYS[1], 'refundedPackets', pooled)",
      ],
    ],
  },
  {
    id: 'E09',
    lib: 'read-reward',
    what: 'process whose clock is behind sets the period of a user back',
    defect: [[lua('read-reward', 'record'), 'if not is_current or not last or last - from > 0 then return 0 end', '']],
  },
  {
    id: 'E10',
    lib: 'read-reward',
    what: 'item that counts is counted again',
    defect: [[lua('read-reward', 'record-fully'), 'local known = grant and not is_new and 1 or 0', 'local known = 0']],
  },
  {
    id: 'E11',
    lib: 'lock',
    what: 'process that releases and acquires again passes the one that waits',
    defect: [[lua('lock', 'acquire'), "if sub(raw, 14, 14) == '1' then return { fence, -1 } end", '']],
  },
  {
    id: 'E12',
    lib: 'lock',
    what: 'release deletes the key and forgets the fence',
    defect: [
      [lua('lock', 'release'), "redis.call('SETRANGE', KEYS[1], '0', '0000000000000')", "redis.call('DEL', KEYS[1])"],
    ],
  },
  {
    id: 'E13',
    lib: 'lock',
    what: 'release without the owner frees the lock of another process',
    defect: [[lua('lock', 'release'), 'if not mine then', 'if false then']],
  },
  {
    id: 'E14',
    lib: 'lock',
    what: 'renewal after the end of the lease takes the lock from its next holder',
    defect: [[lua('lock', 'renew'), 'if lock.owner ~= ARGV[1] or lock.till <= now_ms then return 0 end', '']],
  },
  {
    id: 'E15',
    lib: 'once',
    what: 'confirmation after the lease of another owner replaces its claim',
    defect: [
      [
        lua('once', 'confirm'),
        "if string.sub(text, 61, 60 + string.sub(text, 44, 47)) ~= ARGV[1] then return 'lost' end",
        '',
      ],
    ],
  },
  {
    id: 'E16',
    lib: 'once',
    what: 'late release without the token ends the claim of the next owner',
    defect: [
      [lua('once', 'release'), "return string.sub(text, 61 + a, 60 + a + b) == ARGV[1] and 'released' or 'lost'", ''],
    ],
  },
  {
    id: 'E17',
    lib: 'once',
    what: 'claim with at-most-once begins again after its lease',
    defect: [[lua('once', 'claim'), "if string.sub(text, 2, 2) == 'm' then return 'a' end", '']],
  },
  {
    id: 'E18',
    lib: 'delayed-task',
    what: 'page by number misses a dead letter if another one is dropped',
    defect: [
      [
        lua('delayed-task', 'list'),
        "local from = rank_after(before, before + same, ARGV[3], function(rank)\n  return redis.call('ZRANGE', KEYS[1], rank, rank)[1]\nend)",
        'local from = before + (tonumber(string.sub(ARGV[3], 2)) or 0)',
      ],
    ],
  },
  {
    id: 'E19',
    lib: 'delayed-task',
    what: 'take whose replay leases other tasks',
    defect: [
      [
        lua('delayed-task', 'take'),
        'if not is_replay then write_take(#ids - ended, limit - ended) end',
        'write_take(#ids - ended, limit - ended)',
      ],
    ],
  },
  {
    id: 'E20',
    lib: 'delayed-task',
    what: 'failure without its token settles the attempt of another worker',
    defect: [
      [
        lua('delayed-task', 'fail'),
        "if not record or run.token ~= ARGV[2] then return 'lost' end",
        "if not record then return 'lost' end",
      ],
    ],
  },
  {
    id: 'E21',
    lib: 'delayed-task',
    what: 'acknowledgement without its token settles the attempt of another worker',
    defect: [
      [lua('delayed-task', 'acknowledge'), "string.find(runs[i], ' l ' .. ARGV[2 * i] .. ' ', 1, true)", 'true'],
    ],
  },
  {
    id: 'E22',
    lib: 'scheduled-lock',
    what: 'slot that has run is claimed again',
    defect: [[lua('scheduled-lock', 'claim'), "elseif slot <= last then refusal = 'skipped-slot' end", 'end']],
  },
  {
    id: 'E23',
    lib: 'scheduled-lock',
    what: 'catch-up takes the slot of a run whose lease lasts',
    defect: [
      [lua('scheduled-lock', 'claim'), 'or till > now_ms or now_ms - last > stale', 'or now_ms - last > stale'],
      [
        lua('scheduled-lock', 'claim'),
        "if not refusal and (over or till > now_ms) then refusal = 'skipped-held' end",
        '',
      ],
    ],
  },
  {
    id: 'E24',
    lib: 'scheduled-lock',
    what: 'late complete ends the run of another node',
    defect: [[lua('scheduled-lock', 'complete'), 'local mine = seen[1] == ARGV[1]', 'local mine = true']],
  },
  {
    id: 'E25',
    lib: 'stream-consumer',
    what: 'new partition is emptied before each group has found it',
    defect: [[lua('stream-consumer', 'shared/settlers'), 'if not there[name] then return nil end', '']],
  },
  {
    id: 'E26',
    lib: 'stream-consumer',
    what: 'entry is deleted before the slower group has read it',
    defect: [
      [
        lua('stream-consumer', 'shared/ids'),
        'return pad_id(id) > pad_id(other)',
        "return pad_id(id):match('^%d+') > pad_id(other):match('^%d+')",
      ],
    ],
  },
  {
    id: 'E27',
    lib: 'stream-consumer',
    what: 'retry that runs twice takes the entry from its next session',
    defect: [
      [lua('stream-consumer', 'retry'), 'if not held[1] or held[1][2] ~= ARGV[2] then return { 1 } end', ''],
      [
        lua('stream-consumer', 'retry'),
        'if attempts > ARGV[4] - 1 or returned > tonumber(ARGV[5]) then return { 1 } end',
        '',
      ],
    ],
  },
  {
    id: 'E28',
    lib: 'stream-consumer',
    what: 'message is given before the earlier one of its key is settled',
    defect: [
      [
        lua('stream-consumer', 'take-ordered'),
        "if key ~= '' and is_ours and not may_run(key, entry[1]) then",
        'if false then',
      ],
    ],
  },
  {
    id: 'E29',
    lib: 'stream-consumer',
    what: 'repair does not look at parked entries',
    defect: [
      [
        lua('stream-consumer', 'repair'),
        'local consumer, head = parking_name(key)',
        'if true then return end local consumer, head = parking_name(key)',
      ],
    ],
  },
  {
    id: 'E30',
    lib: 'stream-consumer',
    what: 'repair does not put back what its session does not hold',
    defect: [[lua('stream-consumer', 'repair'), 'if not held[row[1]] then', 'if false then']],
  },
  {
    id: 'N01',
    lib: 'outbox',
    what: 'row that is sent again has another operation id',
    defect: [
      [
        'libs/outbox/src/outbox.sender.ts',
        'const operation = { operationId: row.id, operationRetentionMs: stored.retainMs };',
        'const operation = { operationId: row.id + Math.random(), operationRetentionMs: stored.retainMs };',
      ],
    ],
  },
  {
    id: 'N02',
    lib: 'outbox',
    what: 'messages of a key are sent side by side',
    defect: [
      [
        'libs/outbox/src/outbox.sender.ts',
        'return message?.key === undefined ? id : JSON.stringify([kind, target, message.key]);',
        'return id;',
      ],
    ],
  },
  {
    id: 'N03',
    lib: 'outbox',
    what: 'relay changes rows after its shutdown',
    defect: [['libs/outbox/src/outbox.relay.ts', '      if (this.stopped) return;\n', '']],
  },
  {
    id: 'N04',
    lib: 'transport',
    what: 'request whose server died is handled again',
    defect: [['libs/transport/src/transport.server.ts', '    if (message.attempt > 1) return;\n', '']],
  },
  {
    id: 'N05',
    lib: 'transport',
    what: 'lost part of a reply is not noticed',
    defect: [
      [
        'libs/transport/src/transport.client.ts',
        "    if (part > request.part) return this.fail(id, 'A part of the reply was lost on the way.');\n",
        '',
      ],
    ],
  },
  {
    id: 'N06',
    lib: 'task-events',
    what: 'events that could not be sent are not counted',
    defect: [['libs/delayed-task/src/queue/broadcast.ts', '      this.missed += missed + count;\n', '']],
  },
  {
    id: 'N07',
    lib: 'task-events',
    what: 'message of events that comes twice is reported twice',
    defect: [
      [
        'libs/delayed-task/src/queue/broadcast.ts',
        'if (message === undefined || message.number <= (this.seen.get(message.from) ?? 0)) return;',
        'if (message === undefined) return;',
      ],
    ],
  },
  {
    id: 'N08',
    lib: 'task-events',
    what: 'listener whose connection was lost gets no missed event',
    defect: [
      [
        'libs/delayed-task/src/queue/broadcast.ts',
        "    if (!this.stopped) this.tell({ type: 'missed', namespace: this.namespace, count: undefined });\n",
        '',
      ],
    ],
  },
];
