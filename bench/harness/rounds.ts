/**
 * Runs contestants in turn, A B C, B C A, C A B …: whatever drifts on the machine meets all of them, and none always
 * comes after the same one.
 *
 * @returns for each contestant what its rounds yielded
 */
export async function interleave<Contestant, Result>(
  contestants: readonly Contestant[],
  rounds: number,
  run: (contestant: Contestant, round: number) => Promise<Result>,
): Promise<Map<Contestant, Result[]>> {
  const results = new Map(contestants.map((contestant) => [contestant, [] as Result[]]))
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contestants.length; turn++) {
      const contestant = contestants[(round + turn) % contestants.length]!
      results.get(contestant)!.push(await run(contestant, round))
    }
  }
  return results
}
