package healthcheck

import (
	"os"
	"strings"
	"testing"
)

// proofs says which tests hold which rule of the specification of backend health. A name
// is that of a test function, after the directory that it is in; none is this one.
// What each of them was seen to fail for is in docs/contributing/mutations.md.
var proofs = map[string]string{
	"test 1":  "TestActiveTable TestActiveConfig TestPassiveTable TestBreakerTable TestOrderTable TestRotationReasons TestSummary",
	"test 2":  "TestExactSchedule",
	"test 3":  "TestExactSchedule TestBehaviourScheduleVectors TestJitter",
	"test 4":  "TestActiveInterleave TestBehaviourCumulativeFailures",
	"test 5":  "TestBehaviourFirstResult TestBehaviourInitialDelay",
	"test 6":  "TestR1LateResults TestLateResultAfterShutdown TestLateResultOfReadded TestBehaviourLateResults TestContentChangeInFlight",
	"test 7":  "TestOneTransition",
	"test 8":  "TestOneTrial TestTrialComesBack ../router/proxy/TestOneTrialAmongMany ../router/proxy/TestTrialThatIsNotSentComesBack",
	"test 9":  "TestRotationInvariants TestRotationStandIns",
	"test 10": "../router/TestPickEndsForEveryMixture",
	"test 11": "TestSlowStartShares TestSlowStartOnlyBesideWarmOnes",
	"test 12": "TestBehaviourSharedChecks TestR18SharedResults",
	"test 13": "TestReloadMatrix TestLostProviderFreezes TestBehaviourReload TestTimeoutChangedInFlight TestLastUserGone TestRemovedAndAddedInOneApply TestStaleVerdict TestBehaviourRename",
	"test 14": "TestProbeConformance TestRealSockets",
	"test 15": "FuzzReadResponse FuzzGRPCMessage FuzzH2Answer ../provider/label/FuzzParse ../provider/label/FuzzStatus ../router/route/FuzzStatusSet",
	"test 16": "../provider/label/TestGoldenDiagnostics",
	"test 17": "TestSecrets TestSecretsOfEveryProbe TestTrace TestOnceShowsNoSecrets ../api/TestSecretsAreInNoAnswer " +
		"../cmd/internal/app/TestSecretsAreNowhere ../cmd/internal/app/TestWebhookOfARunningRouter",
	"test 18": "../api/TestContractHoldsForEveryAnswer ../api/TestContractHasEveryEndpoint ../api/TestEventFramesFollowTheContract ../api/TestEveryStateIsShown",
	"test 19": "TestLogLines TestLogContract TestBehaviourLog TestNoTraceAtDebug",
	"test 20": "../deploy/e2e/TestDeployKillOneOfTwo ../deploy/e2e/TestDeployPauseOneOfTwo ../deploy/e2e/TestWrongPathOnBoth ../deploy/e2e/TestDockerUnhealthyIs503 " +
		"../deploy/e2e/TestDeployRollingReplace ../deploy/e2e/TestOperateDrainAndReplace ../deploy/e2e/TestOperateSurvivesARestart",
	"test 21": "TestBounds TestNewcomersBound TestBehaviourDetectionBound",
	"test 22": "TestBudget TestBehaviourBudget TestReservation",
	// A bubble of synctest ends only when each of its goroutines has ended, so every test in one is of this rule.
	"test 23": "TestBehaviourShutdown TestProbeNowDryRunOfAStoppingRouter",

	"R1":  "TestR1LateResults",
	"R2":  "TestR2CancellationIsNoFailure",
	"R3":  "TestR3RemovalDoesNotWait",
	"R4":  "TestLateResultOfReadded",
	"R5":  "TestR5OneStep TestBehaviourView",
	"R6":  "TestLateOutcome",
	"R7":  "TestOneTransition",
	"R8":  "TestEarlierProbe TestContentChangeInFlight",
	"R9":  "TestExpediteInFlight TestBehaviourExpediteLostInFlight",
	"R10": "TestProbeOverridesDrain TestDrainRestoresStaleState",
	"R11": "TestTrialComesBack TestLeaseTime TestBreakerTrialIsOneAndItsLeaseExpires TestBreakerTrialsFollow ../router/proxy/TestPanicEndsTheTicket",
	"R12": "TestActiveOrderOfConfigAndResult",
	"R13": "TestR13NoLockHeld TestNoEngineLock TestOutboxOrder ../api/TestSlowWatcherIsToldOfItsGap",
	"R14": "../router/TestPickEndsForEveryMixture",
	"R15": "../api/metrics/TestSeriesGoWithTheirObject TestOutcomeOfTheGone",
	"R16": "TestLateResultAfterShutdown TestBehaviourShutdown",
	"R17": "../router/proxy/TestPicksAnotherWhenOneRetired",
	"R18": "TestR18SharedResults",
	"R19": "TestR19Since TestRandomWalk",
	"R20": "TestLateTicks TestLateTicksOfARunningEngine",

	"scheduling, rule 1 and 3": "TestFreeSlotsAreUsedAtOnce TestDispatchOrder TestQueueSkipsFullHosts TestBehaviourPerHost",
	"scheduling, rule 2":       "TestStartupSpread TestCrowdSpreadsOut TestBehaviourStartIsNoHerd",
	"scheduling, rule 7":       "TestExpedite TestExpediteLimit TestDockerHealthy",
	"scheduling, rule 8":       "TestMaintenanceStopsProbes TestLeavingAndBack",
	"local errors":             "TestLocalErrors TestBehaviourLocalError",
	"trace":                    "TestTrace TestNoTraceAtDebug",
	"history":                  "TestHistoryOfRemoved TestArchiveIsBounded TestBehaviourHistory",

	"cumulative_failures":          "TestBehaviourCumulativeFailures",
	"active_counters_not_reset":    "TestBehaviourCumulativeFailures TestActiveInterleave",
	"passive_success_not_recorded": "TestPassiveTable",
	"half_open_leak_no_backend":    "TestTrialComesBack ../router/proxy/TestTrialThatIsNotSentComesBack",
	"half_open_leak_cancel":        "TestTrialComesBack ../router/proxy/TestEveryWayOutEndsTheTicket",
	"drain_restores_stale_state":   "TestDrainRestoresStaleState",
	"probe_overrides_drain":        "TestProbeOverridesDrain",
	"all_up_after_reload":          "TestBehaviourAllUpAfterReload",
	"fenced_infinite_loop":         "../router/TestPickEndsForEveryMixture",
	"docker_unhealthy_404":         "TestBehaviourDockerUnhealthy",
	"stale_metric_series":          "../api/metrics/TestSeriesGoWithTheirObject",
	"same_address_two_checks":      "TestBehaviourSharedChecks",
	"ip_reuse":                     "TestBehaviourIPReuse TestReloadMatrix",
	"cap_blocks_single_ejection":   "TestEjectionCap",
	"serial_sweep":                 "TestBehaviourSerialSweep",
	"client_cancel_counts":         "TestPassiveTable ../router/proxy/TestEveryWayOutEndsTheTicket",
	"malformed_masks_timeout":      "TestBehaviourMalformedMasksTimeout TestLateSuccessIsATimeout",
	"expedite_lost_in_flight":      "TestExpediteInFlight TestBehaviourExpediteLostInFlight",
}

// TestEveryRuleHasItsTest: the tests of the index exist.
func TestEveryRuleHasItsTest(t *testing.T) {
	known := map[string]string{}
	for rule, names := range proofs {
		for name := range strings.FieldsSeq(names) {
			dir, test := ".", name
			if i := strings.LastIndexByte(name, '/'); i >= 0 {
				dir, test = name[:i], name[i+1:]
			}
			if known[dir] == "" {
				known[dir] = testsIn(t, dir)
			}
			if !strings.Contains(known[dir], "\nfunc "+test+"(t *testing.T)") && !strings.Contains(known[dir], "\nfunc "+test+"(f *testing.F)") {
				t.Errorf("%s: there is no %s in %s", rule, test, dir)
			}
		}
	}
}

// testsIn is the text of the tests of a directory.
func testsIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(dir + "/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
